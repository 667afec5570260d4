package city

import "math"

// gps is the error of one receiver: a slow drift in each axis (a first-order
// Gauss-Markov process), which grows for a while among high buildings.
type gps struct {
	drift vec     // metres
	sigma float64 // standard deviation at present, metres per axis
	poor  float64 // seconds until the sky is clear again
}

const (
	gpsClear    = 2.5  // metres: standard deviation under a clear sky
	gpsMemory   = 35.0 // seconds over which the drift loses 63 % of itself
	gpsPoorRate = 1.0 / 900
)

// step lets the drift wander for dt seconds.
func (g *gps) step(dt float64, r *dice) {
	switch {
	case g.poor > 0:
		g.poor -= dt
	case r.float() < float64(dt*gpsPoorRate):
		g.poor = 15 + float64(45*r.float())
	}
	want := gpsClear
	if g.poor > 0 {
		want = 11
	}
	g.sigma += float64((want - g.sigma) * min(1, dt/6))
	keep := 1 / (1 + dt/gpsMemory) // in place of an exponential: no two CPUs disagree on a quotient
	kick := float64(g.sigma * math.Sqrt(1-float64(keep*keep)))
	g.drift.x = float64(g.drift.x*keep) + float64(kick*r.normal())
	g.drift.y = float64(g.drift.y*keep) + float64(kick*r.normal())
}

// accuracy returns the accuracy that the receiver reports: a radius that holds the truth two times
// out of three, in metres with one digit.
func (g *gps) accuracy() float64 {
	return math.Floor(float64(g.sigma*15)+0.5) / 10
}

// dice is a small random generator, one for each vehicle, so that no vehicle depends on the others
// (SplitMix64).
type dice uint64

func (d *dice) bits() uint64 {
	*d += 0x9e3779b97f4a7c15
	return mixBits(uint64(*d))
}

// float is evenly distributed over [0, 1).
func (d *dice) float() float64 { return float64(d.bits()>>11) / (1 << 53) }

// intn is evenly distributed over [0, n), n far below 2^32.
func (d *dice) intn(n int) int { return int((d.bits() >> 32) * uint64(n) >> 32) }

// between is evenly distributed over [lo, hi).
func (d *dice) between(lo, hi float64) float64 { return lerp(lo, hi, d.float()) }

// normal is about normally distributed, mean 0 and deviation 1: the sum of four
// even numbers of 16 bits.
func (d *dice) normal() float64 {
	b := d.bits()
	sum := b&0xffff + b>>16&0xffff + b>>32&0xffff + b>>48
	return float64((float64(sum) - 2*65536) * (1.7320508 / 65536))
}
