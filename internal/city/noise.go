package city

import "math"

// noise is gradient noise (Perlin 2002) over a hashed lattice: smooth, about
// [-1, 1], zero at the lattice points, the same for the same seed everywhere.
type noise struct{ seed uint64 }

// at evaluates the noise at a point of the unit lattice.
func (n noise) at(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	ix, iy := int64(fx), int64(fy)
	x, y = x-fx, y-fy
	u, v := fade(x), fade(y)
	low := lerp(n.slope(ix, iy, x, y), n.slope(ix+1, iy, x-1, y), u)
	high := lerp(n.slope(ix, iy+1, x, y-1), n.slope(ix+1, iy+1, x-1, y-1), u)
	return float64(lerp(low, high, v) * 1.5)
}

// fractal sums octaves of noise of the given longest wavelength in metres,
// each half as long and half as high as the one before; about [-1, 1].
func (n noise) fractal(p vec, wavelength float64, octaves int) float64 {
	var sum float64
	x, y, amp := p.x/wavelength, p.y/wavelength, 0.6
	for octave := range uint64(octaves) {
		sum += float64(amp * noise{n.seed + octave*0x9e3779b97f4a7c15}.at(x, y))
		x, y, amp = x*2+17.3, y*2-9.1, amp/2 // doubling and halving are exact
	}
	return sum
}

// slope is the lattice point's ramp, one of sixteen directions.
func (n noise) slope(ix, iy int64, dx, dy float64) float64 {
	g := &ramps[mixBits(n.seed^uint64(ix)*0x9e3779b97f4a7c15^uint64(iy)*0xc2b2ae3d27d4eb4f)>>60]
	return float64(g[0]*dx) + float64(g[1]*dy)
}

// ramps are sixteen unit vectors, spelled out so that no CPU computes them.
var ramps = [16][2]float64{
	{1, 0},
	{0.9238795, 0.3826834},
	{0.7071068, 0.7071068},
	{0.3826834, 0.9238795},
	{0, 1},
	{-0.3826834, 0.9238795},
	{-0.7071068, 0.7071068},
	{-0.9238795, 0.3826834},
	{-1, 0},
	{-0.9238795, -0.3826834},
	{-0.7071068, -0.7071068},
	{-0.3826834, -0.9238795},
	{0, -1},
	{0.3826834, -0.9238795},
	{0.7071068, -0.7071068},
	{0.9238795, -0.3826834},
}

// fade is 6t^5 - 15t^4 + 10t^3, whose first two derivatives vanish at 0 and 1.
func fade(t float64) float64 {
	inner := float64(t*(float64(t*6)-15)) + 10
	return float64(float64(float64(t*t)*t) * inner)
}

// mixBits is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mixBits(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// warp bends the plane, so that straight streets get the curves of a grown city. Every octave moves
// a point by at most a small part of its wavelength. So the sum stretches no direction by more than
// half, and maps the plane one to one: lines that did not cross before do not cross after.
type warp struct {
	octaves []warpOctave
}

type warpOctave struct {
	east, north        noise
	wavelength, metres float64
}

func newWarp(seed uint64) warp {
	var w warp
	for i, o := range []struct{ wavelength, metres float64 }{
		{9000, 450}, {2600, 120}, {800, 32}, {210, 5}, {61, 0.8},
	} {
		w.octaves = append(w.octaves, warpOctave{
			noise{mixBits(seed + uint64(2*i+1))},
			noise{mixBits(seed + uint64(2*i+2))},
			o.wavelength, o.metres,
		})
	}
	return w
}

func (w warp) apply(p vec) vec {
	q := p
	for _, o := range w.octaves {
		x, y := p.x/o.wavelength, p.y/o.wavelength
		q.x += float64(o.metres * o.east.at(x, y))
		q.y += float64(o.metres * o.north.at(x, y))
	}
	return q
}
