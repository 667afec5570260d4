package geometry

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(10, 10))
	for range 100 {
		p := Point{rng.Float64()*358 - 179, rng.Float64()*150 - 75}
		l := Line{p}
		want := 0.0
		along := []float64{0}
		for range 8 {
			q := around(rng, p, 50+rng.Float64()*9000)
			if math.Abs(q.Lon-p.Lon) > 180 {
				continue
			}
			want += vincenty(p, q)
			along = append(along, want)
			l, p = append(l, q), q
		}
		if got := l.Length(); math.Abs(got-want) > 1e-6*want {
			t.Fatalf("%v: %v m long, want %v", l, got, want)
		}
		for i, v := range l { // where the line crosses itself another place may be as near
			if got := l.Progress(v); math.Abs(got-along[i]) > 0.01 && l.Distance(v) > 1e-6 {
				t.Fatalf("%v: vertex %d at %v m, want %v", l, i, got, along[i])
			}
		}
	}
}

func TestProgressOfOffRoute(t *testing.T) {
	ml := MultiLine{{{13, 52}, {13, 52.01}}, {{13.1, 52.01}, {13.1, 52}}}
	each := ml[0].Length()
	for _, c := range []struct {
		p    Point
		want float64
	}{
		{Point{12.99, 52.005}, each / 2},
		{Point{13.001, 51}, 0},
		{Point{13.001, 53}, each},
		{Point{13.11, 52.0025}, 1.75 * each},
	} {
		if got := ml.Progress(c.p); math.Abs(got-c.want) > 0.1 {
			t.Errorf("%v: %v, want %v", c.p, got, c.want)
		}
	}
	if got := ml.Length(); math.Abs(got-2*each) > 1e-6 {
		t.Errorf("length %v, want %v", got, 2*each)
	}
	none := MultiLine{}
	if !math.IsNaN(none.Progress(Point{})) || !math.IsInf(none.Distance(Point{}), 1) || none.Length() != 0 {
		t.Error("no line has a place")
	}
	if !math.IsNaN(ml.Progress(Point{math.NaN(), 0})) {
		t.Error("a point that is not finite has a place")
	}
	point := Line{{13, 52}}
	if d := point.Distance(Point{13, 52.01}); math.Abs(d-each) > 1e-6 || point.Progress(Point{14, 52}) != 0 {
		t.Errorf("a line of a point: %v m", d)
	}
}

// TestLineOverTheAntimeridian: both sides of longitude 180 are near each other.
func TestLineOverTheAntimeridian(t *testing.T) {
	l := Line{{-179.999, -1}, {-179.999, 1}}
	want := vincenty(Point{179.999, 0}, Point{-179.999, 0})
	if got := l.Distance(Point{179.999, 0}); math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	long := Line{{-179.99, 10}, {179.99, 10}} // the long way round
	if got, want := long.Distance(Point{180, 10}), vincenty(Point{180, 10}, Point{179.99, 10}); math.Abs(got-want) > 1e-3 {
		t.Errorf("%v, want %v", got, want)
	}
}
