package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Arrivals are the times at which requests are due, counted from the start of the run: a
// sequence that is fixed beforehand and never goes back. It is safe for any number of
// goroutines.
type Arrivals interface {
	// Stripe yields the arrivals k with k mod of == part, in order: the share of one of several
	// threads. The union over all parts is the whole sequence, to the nanosecond.
	Stripe(part, of int) Stripe

	// Rate is the number of arrivals per second that are meant at a time.
	Rate(at time.Duration) float64

	// Length is when the sequence ends; 0 = never.
	Length() time.Duration

	// String describes the sequence in a few words.
	String() string
}

// Stripe yields arrivals in order. It belongs to one goroutine.
type Stripe interface {
	// Next is the next arrival; false at the end.
	Next() (at time.Duration, ok bool)
}

// Constant is arrivals at equal distances: number k is due at k / PerSecond seconds.
type Constant struct {
	PerSecond float64
	For       time.Duration // 0 = without end
}

// Stripe yields every of-th arrival.
func (c Constant) Stripe(part, of int) Stripe {
	return &numbered{c.at, int64(part), int64(of)}
}

func (c Constant) at(k int64) (time.Duration, bool) {
	at, ok := instant(math.Round(float64(k) * float64(time.Second) / c.PerSecond))
	return at, ok && (c.For == 0 || at < c.For)
}

// instant returns a time in ns. One that is centuries away is none: it ends a sequence.
func instant(ns float64) (at time.Duration, ok bool) {
	if ns >= 1<<62 {
		return 0, false
	}
	return time.Duration(ns), true
}

// numbered is a stripe of arrivals whose times follow from their numbers.
type numbered struct {
	at         func(k int64) (time.Duration, bool)
	next, step int64
}

func (s *numbered) Next() (time.Duration, bool) {
	at, ok := s.at(s.next)
	if !ok {
		return 0, false
	}
	s.next += s.step
	return at, true
}

// Rate is the same all the time.
func (c Constant) Rate(at time.Duration) float64 {
	if c.For > 0 && at >= c.For {
		return 0
	}
	return c.PerSecond
}

// Length is For.
func (c Constant) Length() time.Duration { return c.For }

// String is like "1000/s".
func (c Constant) String() string { return fmt.Sprintf("%g/s", c.PerSecond) }

// Ramp is arrivals whose rate goes evenly from one value to another: number k is due when
// the integral of the rate has reached k.
type Ramp struct {
	From, To float64 // per second; not both 0
	For      time.Duration
}

// Stripe yields every of-th arrival.
func (r Ramp) Stripe(part, of int) Stripe { return &numbered{r.at, int64(part), int64(of)} }

// at solves from*t + (to-from)/(2*for) * t^2 = k, in the form that does not cancel.
func (r Ramp) at(number int64) (time.Duration, bool) {
	k, bend := float64(number), (r.To-r.From)/r.For.Seconds()
	under := r.From*r.From + 2*bend*k
	if under < 0 {
		return 0, false // a falling ramp has ended before
	}
	t := 0.0
	if k > 0 {
		t = 2 * k / (r.From + math.Sqrt(under))
	}
	at, ok := instant(t * float64(time.Second))
	return at, ok && at < r.For
}

// Rate returns the rate that the ramp has reached.
func (r Ramp) Rate(at time.Duration) float64 {
	if at >= r.For {
		return 0
	}
	return r.From + (r.To-r.From)*at.Seconds()/r.For.Seconds()
}

// Length is For.
func (r Ramp) Length() time.Duration { return r.For }

// String is like "100..1000/s over 30s".
func (r Ramp) String() string { return fmt.Sprintf("%g..%g/s over %v", r.From, r.To, r.For) }

// Burst is arrivals that come many at once: Size of them at the start and then after each
// Every.
type Burst struct {
	Size  int64
	Every time.Duration
	For   time.Duration // 0 = without end
}

// Stripe yields every of-th arrival.
func (b Burst) Stripe(part, of int) Stripe { return &numbered{b.at, int64(part), int64(of)} }

func (b Burst) at(k int64) (time.Duration, bool) {
	at := time.Duration(k/b.Size) * b.Every
	return at, b.For == 0 || at < b.For
}

// Rate is the mean over a period.
func (b Burst) Rate(at time.Duration) float64 {
	return Constant{float64(b.Size) / b.Every.Seconds(), b.For}.Rate(at)
}

// Length is For.
func (b Burst) Length() time.Duration { return b.For }

// String is like "burst 50 every 1s".
func (b Burst) String() string { return fmt.Sprintf("burst %d every %v", b.Size, b.Every) }

// Poisson is the arrivals of many independent users: the distances between them are drawn from the
// exponential distribution with the mean 1 / PerSecond. The same Seed gives the same arrivals, for
// any number of stripes.
type Poisson struct {
	PerSecond float64
	For       time.Duration // 0 = without end
	Seed      uint64
}

// Stripe draws all arrivals and yields every of-th.
func (p Poisson) Stripe(part, of int) Stripe {
	return &poissonStripe{Poisson: p, rng: rand.New(rand.NewPCG(p.Seed, 0)), skip: part, of: of}
}

type poissonStripe struct {
	Poisson
	rng  *rand.Rand
	at   float64 // s
	skip int     // arrivals of other stripes that come first
	of   int
}

func (s *poissonStripe) Next() (time.Duration, bool) {
	for range s.skip + 1 {
		// -ln U, and not the library's own, whose algorithm may change.
		s.at += -math.Log(1-s.rng.Float64()) / s.PerSecond
	}
	s.skip = s.of - 1
	at, ok := instant(s.at * float64(time.Second))
	return at, ok && (s.For == 0 || at < s.For)
}

// Rate is the mean.
func (p Poisson) Rate(at time.Duration) float64 { return Constant{p.PerSecond, p.For}.Rate(at) }

// Length is For.
func (p Poisson) Length() time.Duration { return p.For }

// String is like "poisson 1000/s".
func (p Poisson) String() string { return fmt.Sprintf("poisson %g/s", p.PerSecond) }
