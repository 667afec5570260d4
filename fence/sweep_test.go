package fence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// slowFault looks at all pairs of edges: the definition of what a sweep finds.
func slowFault(rings []Ring) faultKind {
	var s sweeper
	s.load(rings)
	worst := faultNone
	for i := range s.segments {
		for j := range i {
			worst = max(worst, pairFault(s.segments[i], s.segments[j]))
		}
	}
	if worst <= faultTouch {
		worst = faultNone
		for i, v := range s.vertices {
			for _, w := range s.vertices[:i] {
				if v.p == w.p {
					worst = faultTouch
				}
			}
			for _, g := range s.segments {
				if v.p.compare(g.l) > 0 && v.p.compare(g.r) < 0 && g.side(v.p) == 0 {
					worst = faultTouch
				}
			}
		}
	}
	return worst
}

func pairFault(a, b segment) faultKind {
	p, q, r, s := a.side(b.l), a.side(b.r), b.side(a.l), b.side(a.r)
	switch {
	case p*q < 0 && r*s < 0:
		return faultCrossing
	case p == 0 && q == 0 && a.l.compare(b.r) < 0 && b.l.compare(a.r) < 0:
		return faultOverlap
	}
	return faultNone
}

func gridRing(rng *rand.Rand, n, size int) Ring {
	r := make(Ring, n)
	for i := range r {
		r[i] = Point{float64(rng.IntN(size)), float64(rng.IntN(size))}
	}
	return tidy(r, nil).ring
}

// TestSweepFindsWhatPairsShow runs small rings on coarse grids, where everything degenerate is
// common: vertical edges, shared vertices, vertices on edges, crossings at a vertex.
func TestSweepFindsWhatPairsShow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[faultKind]int{}
	var s sweeper
	for i := range 12_000 {
		var rings []Ring
		for range 1 + rng.IntN(3) {
			if r := gridRing(rng, 3+rng.IntN(6), 3+i%9); len(r) >= 3 {
				rings = append(rings, r)
			}
		}
		want := slowFault(rings)
		got := s.run(rings).kind
		seen[want]++
		// Of a crossing and an overlap the sweep tells the one that it meets first.
		if bad := func(k faultKind) bool { return k >= faultOverlap }; bad(got) != bad(want) || (!bad(got) && got != want) {
			t.Fatalf("%v: %v, want %v", rings, got, want)
		}
	}
	for _, k := range []faultKind{faultNone, faultTouch, faultOverlap, faultCrossing} {
		if seen[k] < 100 {
			t.Errorf("fault %d occurred %d times only", k, seen[k])
		}
	}
}

// comb is a ring of n teeth, slanted so that all boxes meet; its sweep holds n edges at once.
func comb(n int) Ring {
	r := Ring{{0, -1}}
	for i := range n {
		y := float64(i)
		r = append(r, Point{0, y}, Point{1000, y + float64(n)}, Point{0, y + 0.5})
	}
	return append(r, Point{-1, float64(n)}, Point{-1, -1})
}

func TestSweepOfLongRings(t *testing.T) {
	t.Parallel()
	ring := comb(17_000)
	var s sweeper
	start := time.Now()
	if f := s.run([]Ring{ring}); f.kind != faultNone {
		t.Errorf("a comb: %+v", f)
	}
	t.Logf("%d vertices in %v", len(ring), time.Since(start))
	i := len(ring) / 2
	i += (2 - i%3) % 3 // a tip
	ring[i], ring[i+3] = ring[i+3], ring[i]
	if f := s.run([]Ring{ring}); f.kind != faultCrossing && f.kind != faultOverlap {
		t.Errorf("a comb with two tips exchanged: %+v", f)
	}
}

func TestTidy(t *testing.T) {
	for name, tc := range map[string]struct {
		in, want        Ring
		repeats, spikes int
	}{
		"as it is":           {Ring{{0, 0}, {2, 0}, {1, 2}}, Ring{{0, 0}, {2, 0}, {1, 2}}, 0, 0},
		"collinear":          {Ring{{0, 0}, {1, 0}, {2, 0}, {1, 2}}, Ring{{0, 0}, {1, 0}, {2, 0}, {1, 2}}, 0, 0},
		"repeated":           {Ring{{0, 0}, {2, 0}, {2, 0}, {2, 0}, {1, 2}}, Ring{{0, 0}, {2, 0}, {1, 2}}, 2, 0},
		"repeated at ends":   {Ring{{0, 0}, {2, 0}, {1, 2}, {0, 0}}, Ring{{0, 0}, {2, 0}, {1, 2}}, 1, 0},
		"spike":              {Ring{{0, 0}, {2, 0}, {9, 0}, {2, 0}, {1, 2}}, Ring{{0, 0}, {2, 0}, {1, 2}}, 0, 1},
		"spike at the end":   {Ring{{0, 0}, {2, 0}, {0, 2}, {0, 5}}, Ring{{0, 0}, {2, 0}, {0, 2}}, 0, 1},
		"spike at the start": {Ring{{0, 5}, {0, 0}, {2, 0}, {0, 2}}, Ring{{0, 0}, {2, 0}, {0, 2}}, 0, 1},
		"out and back":       {Ring{{0, 0}, {1, 0}, {2, 3}, {1, 0}}, nil, 1, 2},
		"on a line":          {Ring{{0, 0}, {3, 3}, {1, 1}, {2, 2}}, nil, 0, 2},
		"one point":          {Ring{{1, 1}, {1, 1}, {1, 1}}, nil, 2, 0},
	} {
		got := tidy(tc.in, nil)
		if len(tc.want) == 0 {
			if len(got.ring) >= 3 {
				t.Errorf("%s: %v is left", name, got.ring)
			}
		} else if !slices.Equal(got.ring, tc.want) || got.repeats != tc.repeats || got.spikes != tc.spikes {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTidyChangesNoAnswer asks all points of a grid with half steps.
func TestTidyChangesNoAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		r := make(Ring, 3+rng.IntN(8))
		for i := range r {
			r[i] = Point{float64(rng.IntN(4)), float64(rng.IntN(4))}
		}
		left := tidy(r, nil).ring
		for x := -0.5; x < 4; x += 0.5 {
			for y := -0.5; y < 4; y += 0.5 {
				want := r.odd(Point{x, y})
				if got := left.odd(Point{x, y}); got != want || (got && len(left) < 3) {
					t.Fatalf("%v,%v in %v: %v, and in %v: %v", x, y, r, want, left, got)
				}
			}
		}
	}
}

// TestBoxJoinIsRight compares with the definition: what it calls clear has no fault, and of
// rings as short as these it is never in doubt.
func TestBoxJoinIsRight(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(4, 4))
	seen := map[bool]int{}
	var j boxJoin
	for i := range 20_000 / Slowdown {
		var rings []Ring
		for range 1 + rng.IntN(3) {
			r := starRing(rng, 3+rng.IntN(30))
			if i%2 == 0 {
				r = gridRing(rng, 3+rng.IntN(12), 3+i%9)
			}
			if len(r) >= 3 {
				rings = append(rings, r)
			}
		}
		want := slowFault(rings) == faultNone
		seen[want]++
		if got := j.clear(rings); got != want {
			t.Fatalf("%v: clear is %v", rings, got)
		}
	}
	for _, clear := range []bool{true, false} {
		if seen[clear] < 1000/Slowdown {
			t.Errorf("%v occurred %d times only", clear, seen[clear])
		}
	}
}

// starRing is a ring round a point that mostly, as its distances vary, does not meet itself.
func starRing(rng *rand.Rand, n int) Ring {
	r := make(Ring, n)
	at := Point{float64(rng.IntN(6)), float64(rng.IntN(6))}
	for i := range r {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		d := 0.5 + rng.Float64()
		r[i] = Point{at.Lon + d*cos, at.Lat + d*sin}
	}
	return tidy(r, nil).ring
}

// TestBoxJoinGivesUp: what would take too many steps is left to the sweeper, in few steps.
func TestBoxJoinGivesUp(t *testing.T) {
	var j boxJoin
	ring := comb(3000)
	if j.clear([]Ring{ring}) {
		t.Error("a comb was clear within the budget")
	}
	if spent := joinBudget*len(ring) - j.budget; spent > joinBudget*len(ring)+leafEdges+1 {
		t.Errorf("%d steps", spent)
	}
}

func TestIsTidy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		r := make(Ring, rng.IntN(7))
		for i := range r {
			r[i] = Point{float64(rng.IntN(4)), float64(rng.IntN(4))}
		}
		left := tidy(r, nil)
		if want := len(r) >= 3 && slices.Equal(left.ring, r); r.isTidy() != want {
			t.Fatalf("%v: isTidy is %v, but tidy leaves %v", r, r.isTidy(), left.ring)
		}
	}
}
