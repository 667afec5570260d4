package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/internal/sampling"
)

// vincenty is the length of the geodesic on WGS84 by Vincenty's inverse formula of 1975, which is
// good to a few micrometres, or NaN where it does not converge. The product uses none of it.
func vincenty(a, b Point) float64 {
	const major, f = 6378137.0, 1 / 298.257223563
	const minor = major * (1 - f)
	l := math.Remainder(b.Lon-a.Lon, 360) * math.Pi / 180
	sinU1, cosU1 := math.Sincos(math.Atan((1 - f) * math.Tan(a.Lat*math.Pi/180)))
	sinU2, cosU2 := math.Sincos(math.Atan((1 - f) * math.Tan(b.Lat*math.Pi/180)))
	lambda := l
	for range 12 {
		sinL, cosL := math.Sincos(lambda)
		sinS := math.Hypot(cosU2*sinL, cosU1*sinU2-sinU1*cosU2*cosL)
		if sinS == 0 {
			return 0
		}
		cosS := sinU1*sinU2 + cosU1*cosU2*cosL
		sigma := math.Atan2(sinS, cosS)
		sinA := cosU1 * cosU2 * sinL / sinS
		cos2A := 1 - sinA*sinA
		cos2M := 0.0
		if cos2A > 0 {
			cos2M = cosS - 2*sinU1*sinU2/cos2A
		}
		c := f / 16 * cos2A * (4 + f*(4-3*cos2A))
		before := lambda
		lambda = l + (1-c)*f*sinA*(sigma+c*sinS*(cos2M+c*cosS*(2*cos2M*cos2M-1)))
		if math.Abs(lambda-before) > 1e-14 {
			continue
		}
		u2 := cos2A * (major*major - minor*minor) / (minor * minor)
		ka := 1 + u2/16384*(4096+u2*(-768+u2*(320-175*u2)))
		kb := u2 / 1024 * (256 + u2*(-128+u2*(74-47*u2)))
		ds := kb * sinS * (cos2M + kb/4*(cosS*(2*cos2M*cos2M-1)-kb/6*cos2M*(4*sinS*sinS-3)*(4*cos2M*cos2M-3)))
		return minor * ka * (sigma - ds)
	}
	return math.NaN()
}

// around is a point at about so many metres from p, in a random direction.
func around(rng *rand.Rand, p Point, metres float64) Point {
	sin, cos := math.Sincos(rng.Float64() * 2 * math.Pi)
	lat := p.Lat + metres*sin/111_200
	if math.Abs(lat) > 90 {
		lat = math.Copysign(180, lat) - lat
	}
	return Point{WrapLon(p.Lon + metres*cos/111_320/math.Cos(p.Lat*math.Pi/180)), lat}
}

// TestDistanceOfPoints holds the error that Metric states against geodesics.
func TestDistanceOfPoints(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ metres, bound float64 }{
		{10, 1e-6}, {1000, 1e-5}, {10_000, 1e-3}, {49_000, 0.4}, {300_000, 0.004 * 300_000}, {10_000_000, 0.004 * 10_000_000},
	} {
		worst := 0.0
		for range 20_000 / sampling.Slowdown {
			p := Point{rng.Float64()*360 - 180, rng.Float64()*160 - 80}
			q := around(rng, p, c.metres*(0.5+rng.Float64()/2))
			want := vincenty(p, q)
			if math.IsNaN(want) {
				continue
			}
			m := MetricAt(p)
			off := math.Abs(m.To(q) - want)
			if worst = max(worst, off); off > c.bound && !(c.metres > 1e5 && off < 0.004*want) {
				t.Fatalf("%v to %v: %v, want %v", p, q, m.To(q), want)
			}
		}
		t.Logf("%v m: at most %v m wrong", c.metres, worst)
	}
}

// TestDistanceNearPoles: the series gives way to chords.
func TestDistanceNearPoles(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	worst := 0.0
	for range 5000 / sampling.Slowdown {
		p := Point{rng.Float64()*360 - 180, math.Copysign(90-math.Pow(10, 1-10*rng.Float64()), rng.Float64()-0.5)}
		metres := math.Pow(10, 6*rng.Float64()-1)
		q := Point{WrapLon(p.Lon + rng.Float64()*360), p.Lat - math.Copysign(metres/111_200, p.Lat)}
		if rng.IntN(2) == 0 {
			q = Point{WrapLon(p.Lon + metres/(111_320*math.Cos(p.Lat*math.Pi/180))), p.Lat}
		}
		want, m := vincenty(p, q), MetricAt(p)
		off := math.Abs(m.To(q)-want) / (want + 1)
		if worst = max(worst, off); off > 0.004 || off > 1e-6 && want < 40_000 {
			t.Fatalf("%v to %v: %v, want %v", p, q, m.To(q), want)
		}
	}
	t.Logf("at most the %v part wrong", worst)
}

// nearestOnEdge is the least geodesic from p to a place on the edge, by looking at many and then
// nearer and nearer ones.
func nearestOnEdge(p, a, b Point) (metres, share float64) {
	at := func(t float64) float64 {
		return vincenty(p, Point{a.Lon + t*(b.Lon-a.Lon), a.Lat + t*(b.Lat-a.Lat)})
	}
	const n = 64
	metres = math.Inf(1)
	for i := range n + 1 {
		if d := at(float64(i) / n); d < metres {
			metres, share = d, float64(i)/n
		}
	}
	lo, hi := max(share-1.0/n, 0), min(share+1.0/n, 1)
	for range 60 {
		u, v := lo+(hi-lo)*0.382, lo+(hi-lo)*0.618
		if at(u) < at(v) {
			hi = v
		} else {
			lo = u
		}
	}
	if d := at((lo + hi) / 2); d < metres {
		metres, share = d, (lo+hi)/2
	}
	return metres, share
}

func TestDistanceOfEdges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct{ metres, length, bound float64 }{
		{10, 100, 1e-6},
		{1000, 300, 1e-5},
		{1000, 20_000, 1e-5},
		{10_000, 1000, 1e-3},
		{10_000, 300_000, 1e-3},
		{200_000, 300_000, 800},
		{3_000_000, 2_000_000, 12_000},
	} {
		worst := 0.0
		for range 600 / sampling.Slowdown {
			p := Point{rng.Float64()*360 - 180, rng.Float64()*160 - 80}
			a := around(rng, p, c.metres)
			b := around(rng, a, c.length)
			want, _ := nearestOnEdge(p, a, b)
			if math.Abs(b.Lon-a.Lon) > 180 || math.IsInf(want, 1) {
				continue // it would go the long way round
			}
			m := MetricAt(p)
			got, share := m.Edge(a, b)
			off := math.Abs(got - want)
			if worst = max(worst, off); off > c.bound || share < 0 || share > 1 {
				t.Fatalf("%v to %v-%v: %v, want %v", p, a, b, got, want)
			}
			place := Point{a.Lon + share*(b.Lon-a.Lon), a.Lat + share*(b.Lat-a.Lat)}
			if d := m.To(place); math.Abs(d-got) > 1e-6+1e-3*got {
				t.Fatalf("the place at %v is at %v m, not %v", share, d, got)
			}
		}
		t.Logf("%v m: at most %v m wrong", c.metres, worst)
	}
}

// TestBoxIsBelow: no point of a box is nearer than its bound.
func TestBoxIsBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 50_000 / sampling.Slowdown {
		p := Point{rng.Float64()*360 - 180, rng.Float64()*180 - 90}
		q := around(rng, p, math.Pow(10, 7*rng.Float64()))
		b := EmptyBox().extend(q).extend(around(rng, q, math.Pow(10, 6*rng.Float64())))
		m := MetricAt(p)
		d := m.To(q)
		if got := m.Box(b); got > d {
			t.Fatalf("%v to %v: %v, but %v is at %v", p, b, got, q, d)
		}
		if got := m.Box(EmptyBox().extend(q)); got > d || d < nearMetres && math.Abs(p.Lat) < 85 && got < d*0.66 {
			t.Fatalf("%v to %v: %v of %v", p, q, got, d)
		}
	}
}

func TestSincos(t *testing.T) {
	for d := -360.0; d <= 360; d += 0.37 {
		sin, cos := sincos(d)
		wantSin, wantCos := math.Sincos(d * math.Pi / 180)
		if math.Abs(sin-wantSin) > 2e-15 || math.Abs(cos-wantCos) > 2e-15 {
			t.Fatalf("%v: %v %v, want %v %v", d, sin, cos, wantSin, wantCos)
		}
	}
	for s := 0.0; s <= 1; s += 0.001 {
		if got := arcsin(s); math.Abs(got-math.Asin(s)) > 1e-15 {
			t.Fatalf("%v: %v, want %v", s, got, math.Asin(s))
		}
	}
}

// TestDistanceIsTheSameEverywhere holds bits that were computed on amd64. A fused operation changes
// some of them.
func TestDistanceIsTheSameEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	sum := uint64(0)
	for range 20_000 {
		p := Point{rng.Float64()*360 - 180, rng.Float64()*180 - 90}
		m := MetricAt(p)
		a := Point{p.Lon + (rng.Float64()-0.5)*4, p.Lat + (rng.Float64()-0.5)*4}
		d, share := m.Edge(a, Point{a.Lon + rng.Float64() - 0.5, a.Lat + rng.Float64() - 0.5})
		for _, x := range []float64{d, share} {
			sum = (sum ^ math.Float64bits(x)) * 0x9e3779b97f4a7c15
		}
	}
	if sum != 0x662ad55e8ccd5c2f {
		t.Errorf("%#x", sum)
	}
}

func BenchmarkMetric(b *testing.B) {
	rng := rand.New(rand.NewPCG(6, 6))
	ring := make(Ring, 100)
	p := Point{-73.97, 40.71}
	for i := range ring {
		sin, cos := math.Sincos(float64(i) / 100 * 2 * math.Pi)
		ring[i] = Point{p.Lon + 0.01*cos*(0.9+0.1*rng.Float64()), p.Lat + 0.01*sin}
	}
	area := MultiPolygon{{ring}}
	b.Run("At", func(b *testing.B) {
		for b.Loop() {
			MetricAt(p)
		}
	})
	b.Run("BoundaryDistance/100", func(b *testing.B) {
		for b.Loop() {
			area.BoundaryDistance(p)
		}
	})
	b.Run("Inradius/100", func(b *testing.B) {
		for b.Loop() {
			area.Inradius()
		}
	})
}
