package geometry

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/internal/sampling"
)

func TestCrossings(t *testing.T) {
	north := Line{{0, 0}, {0, 5}, {0, 10}} // its left is the west
	for name, c := range map[string]struct {
		line Line
		a, b Point
		want []Crossing
	}{
		"to the left":            {north, Point{1, 2}, Point{-3, 2}, []Crossing{{0.25, true}}},
		"to the right":           {north, Point{-3, 2}, Point{1, 2}, []Crossing{{0.75, false}}},
		"through a vertex":       {north, Point{1, 5}, Point{-1, 5}, []Crossing{{0.5, true}}},
		"beside it":              {north, Point{1, 11}, Point{-1, 11}, nil},
		"onto it from the west":  {north, Point{-1, 3}, Point{0, 3}, []Crossing{{1, false}}},
		"and on":                 {north, Point{0, 3}, Point{1, 3}, nil},
		"and back":               {north, Point{0, 3}, Point{-1, 3}, []Crossing{{0, true}}},
		"onto it from the east":  {north, Point{1, 3}, Point{0, 3}, nil},
		"along it":               {north, Point{0, 1}, Point{0, 4}, nil},
		"a point":                {north, Point{0, 1}, Point{0, 1}, nil},
		"the first end":          {north, Point{-1, 0}, Point{1, 0}, []Crossing{{0.5, false}}},
		"the last end":           {north, Point{-1, 10}, Point{1, 10}, nil},
		"twice":                  {Line{{0, 0}, {1, 2}, {2, 0}}, Point{0, 1}, Point{4, 1}, []Crossing{{0.125, false}, {0.375, true}}},
		"a tip":                  {Line{{0, 2}, {1, 0}, {2, 2}}, Point{-1, 0}, Point{3, 0}, []Crossing{{0.5, true}, {0.5, false}}},
		"the tip the other way":  {Line{{2, 2}, {1, 0}, {0, 2}}, Point{-1, 0}, Point{3, 0}, []Crossing{{0.5, false}, {0.5, true}}},
		"a tip in the south":     {Line{{0, -2}, {1, 0}, {2, -2}}, Point{-1, 0}, Point{3, 0}, nil},
		"an edge there and back": {Line{{0, -1}, {0, 1}, {0, -1}}, Point{-1, 0}, Point{1, 0}, []Crossing{{0.5, false}, {0.5, true}}},
		"a tip over the antimeridian": {
			Line{{181, 2}, {180, 0}, {179, 2}}, Point{178, 0}, Point{-178, 0}, []Crossing{{0.5, false}, {0.5, true}},
		},
		"over the antimeridian":      {Line{{-179, -1}, {-179, 1}}, Point{178, 0}, Point{-178, 0}, []Crossing{{0.75, false}}},
		"back over it":               {Line{{179, -1}, {179, 1}}, Point{-179, 0}, Point{177, 0}, []Crossing{{0.5, true}}},
		"a line on 180":              {Line{{180, -1}, {180, 1}}, Point{179, 0}, Point{-179, 0}, []Crossing{{0.5, false}}},
		"a line on -180":             {Line{{-180, -1}, {-180, 1}}, Point{179, 0}, Point{-179, 0}, []Crossing{{0.5, false}}},
		"onto 180":                   {Line{{180, -1}, {180, 1}}, Point{179, 0}, Point{180, 0}, []Crossing{{1, false}}},
		"on from 180":                {Line{{180, -1}, {180, 1}}, Point{180, 0}, Point{-179, 0}, nil},
		"half the world from there":  {Line{{0, -1}, {0, 1}}, Point{179, 0}, Point{-179, 0}, nil},
		"not the long way":           {Line{{0, -1}, {0, 1}}, Point{100, 0}, Point{-100, 0}, nil},
		"not finite":                 {north, Point{math.NaN(), 0}, Point{-1, 3}, nil},
		"to infinity":                {north, Point{1, 1}, Point{math.Inf(-1), 1}, nil},
		"a line without an edge":     {Line{{0, 0}}, Point{-1, 0}, Point{1, 0}, nil},
		"a line without a vertex":    {nil, Point{-1, 0}, Point{1, 0}, nil},
		"an edge that is only level": {Line{{0, 0}, {5, 0}}, Point{1, -1}, Point{1, 0}, []Crossing{{1, true}}},
	} {
		if got := c.line.AppendCrossings(nil, c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestCrossingsInExactOrder: at a place where edges cross the shares of a path are less than the
// rounding apart, and the order is that of the fractions.
func TestCrossingsInExactOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(21, 21))
	at := func() Point { return Point{float64(rng.IntN(60)) / 7, float64(rng.IntN(60)) / 11} }
	decided := 0
	for range 20_000 / sampling.Slowdown {
		p, q, r, s := at(), at(), at(), at()
		one, ok := NewPath(p, q)
		c, meets := one.Cross(r, s)
		if !ok || !meets {
			continue
		}
		a := at()
		place := Point{p.Lon + c.Share*(q.Lon-p.Lon), p.Lat + c.Share*(q.Lat-p.Lat)}
		b := Point{2*place.Lon - a.Lon, 2*place.Lat - a.Lat}
		w, _ := NewPath(a, b)
		x, first := w.Cross(p, q)
		y, second := w.Cross(r, s)
		if !first || !second {
			continue
		}
		m, n := meeting{x, p, q}, meeting{y, r, s}
		exact := w.compareExactly(&m, &n)
		if got := w.compare(&m, &n); got != exact {
			t.Fatalf("%v to %v over %v-%v and %v-%v: %d, want %d", a, b, p, q, r, s, got, exact)
		}
		if exact != 0 && cmp.Compare(x.Share, y.Share) != exact {
			decided++
		}
	}
	if decided < 100/sampling.Slowdown {
		t.Errorf("the rounding would decide %d alone", decided)
	}
}

// TestCrossingsTellTheSide: along a walk the crossings of a closed line go out and in by turns, and
// an odd number of them separates a point within from one outside. All coordinates are small
// integers, so that walks go through vertices and along edges.
func TestCrossingsTellTheSide(t *testing.T) {
	t.Parallel()
	for _, origin := range []float64{0, 180} {
		rng := rand.New(rand.NewPCG(8, 8))
		at := func() Point { return Point{WrapLon(origin + float64(rng.IntN(7)-3)), float64(rng.IntN(7) - 3)} }
		for range 4000 / sampling.Slowdown {
			p, q := at(), at()
			r := Ring{{-2, -2}, {2, -2}, {0, 0}, {2, 2}, {-2, 2}}
			if rng.IntN(2) == 0 {
				r = Ring{{-1, -3}, {3, 0}, {1, 2}, {1, 3}, {-3, 1}} // counterclockwise too
			}
			for i := range r {
				r[i].Lon += origin
			}
			area := Unwrap(MultiPolygon{{r}})
			line := UnwrapLines(MultiLine{append(slices.Clone(Line(r)), r[0])})
			crossings := line.AppendCrossings(nil, p, q)
			if in, there := area.Contains(p), area.Contains(q); (len(crossings)%2 == 1) != (in != there) {
				t.Fatalf("%v to %v over %v: %v, but %v and %v", p, q, line, crossings, in, there)
			}
			if w := len(crossings); w > 0 && crossings[w-1].ToLeft != area.Contains(q) || !alternate(crossings) {
				t.Fatalf("%v to %v over %v: %v", p, q, line, crossings)
			}
			first, last, ok := area.Passes(p, q)
			if ok != (len(crossings) > 0) && distinct(crossings) || ok && distinct(crossings) && (first != crossings[0].Share || last != crossings[len(crossings)-1].Share) {
				t.Fatalf("%v to %v over %v: passes from %v to %v (%v), crosses %v", p, q, area, first, last, ok, crossings)
			}
		}
	}
}

// alternate reports whether the path goes to the left and to the right by turns.
func alternate(cs []Crossing) bool {
	for i := 1; i < len(cs); i++ {
		if cs[i].ToLeft == cs[i-1].ToLeft {
			return false
		}
	}
	return true
}

// distinct reports whether no two crossings are at the same place. Passes is without pairs there.
func distinct(cs []Crossing) bool {
	for i := 1; i < len(cs); i++ {
		if cs[i].Share == cs[i-1].Share {
			return false
		}
	}
	return true
}

// TestPathBoxes: what a path crosses meets one of its boxes.
func TestPathBoxes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	met := 0
	for range 30_000 / sampling.Slowdown {
		at := func() Point { return Point{WrapLon(180 + rng.NormFloat64()*3), rng.NormFloat64()} }
		w, _ := NewPath(at(), at())
		p := at()
		q := Point{p.Lon + rng.NormFloat64(), p.Lat + rng.NormFloat64()}
		if _, ok := w.Cross(p, q); !ok {
			continue
		}
		met++
		boxes, edge := w.Boxes(), EmptyBox().extend(p).extend(q)
		if !boxes[0].Intersects(edge) && !boxes[1].Intersects(edge) && math.Abs(q.Lon) < 180 {
			t.Fatalf("%v crosses %v-%v, which meets none of %v", w, p, q, boxes)
		}
	}
	if met < 1000/sampling.Slowdown {
		t.Errorf("only %d crossed", met)
	}
}

// TestPassesTheUnion: an area in parts that overlap, or share edges, has the boundary of its union.
func TestPassesTheUnion(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 17))
	parts := func(boxes ...Box) (mp MultiPolygon) {
		for _, b := range boxes {
			mp = append(mp, Polygon{rectangle(b.MinLon, b.MinLat, b.MaxLon, b.MaxLat)})
		}
		return mp
	}
	whole := parts(Box{0, 0, 9, 3})
	for name, mp := range map[string]MultiPolygon{
		"sharing edges": parts(Box{0, 0, 3, 3}, Box{3, 0, 7, 3}, Box{7, 0, 9, 3}),
		"overlapping":   parts(Box{0, 0, 5, 3}, Box{2, 0, 9, 3}, Box{4, 1, 6, 2}),
		"twice":         append(slices.Clone(whole), whole...),
	} {
		for range 5000 / sampling.Slowdown {
			a, b := Point{rng.Float64()*13 - 2, rng.Float64()*6 - 2}, Point{rng.Float64()*13 - 2, rng.Float64()*6 - 2}
			if rng.IntN(2) == 0 {
				a, b = Point{math.Round(a.Lon), math.Round(a.Lat)}, Point{math.Round(b.Lon), math.Round(b.Lat)}
			}
			first, last, ok := mp.Passes(a, b)
			wantFirst, wantLast, want := whole.Passes(a, b)
			if ok != want || math.Abs(first-wantFirst) > 1e-12 || math.Abs(last-wantLast) > 1e-12 {
				t.Fatalf("%s: %v to %v: %v %v %v, want %v %v %v", name, a, b, first, last, ok, wantFirst, wantLast, want)
			}
		}
	}
}
