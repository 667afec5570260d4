package geojson

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// slowFault looks at all pairs of edges: the definition of what a sweep finds.
func slowFault(rings []geometry.Ring) faultKind {
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
				if compare(v.p, g.l) > 0 && compare(v.p, g.r) < 0 && g.side(v.p) == 0 {
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
	case p == 0 && q == 0 && compare(a.l, b.r) < 0 && compare(b.l, a.r) < 0:
		return faultOverlap
	}
	return faultNone
}

func gridRing(rng *rand.Rand, n, size int) geometry.Ring {
	r := make(geometry.Ring, n)
	for i := range r {
		r[i] = geometry.Point{Lon: float64(rng.IntN(size)), Lat: float64(rng.IntN(size))}
	}
	return geometry.Tidy(r, nil).Ring
}

// TestSweepFindsWhatPairsShow runs small rings on coarse grids, where everything degenerate is
// common: vertical edges, shared vertices, vertices on edges, crossings at a vertex.
func TestSweepFindsWhatPairsShow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[faultKind]int{}
	var s sweeper
	for i := range 12_000 {
		var rings []geometry.Ring
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
func comb(n int) geometry.Ring {
	r := geometry.Ring{{Lon: 0, Lat: -1}}
	for i := range n {
		y := float64(i)
		r = append(r, geometry.Point{Lon: 0, Lat: y}, geometry.Point{Lon: 1000, Lat: y + float64(n)}, geometry.Point{Lon: 0, Lat: y + 0.5})
	}
	return append(r, geometry.Point{Lon: -1, Lat: float64(n)}, geometry.Point{Lon: -1, Lat: -1})
}

func TestSweepOfLongRings(t *testing.T) {
	t.Parallel()
	ring := comb(17_000)
	var s sweeper
	start := time.Now()
	if f := s.run([]geometry.Ring{ring}); f.kind != faultNone {
		t.Errorf("a comb: %+v", f)
	}
	t.Logf("%d vertices in %v", len(ring), time.Since(start))
	i := len(ring) / 2
	i += (2 - i%3) % 3 // a tip
	ring[i], ring[i+3] = ring[i+3], ring[i]
	if f := s.run([]geometry.Ring{ring}); f.kind != faultCrossing && f.kind != faultOverlap {
		t.Errorf("a comb with two tips exchanged: %+v", f)
	}
}

func TestTidy(t *testing.T) {
	for name, tc := range map[string]struct {
		in, want        geometry.Ring
		repeats, spikes int
	}{
		"as it is":           {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, 0, 0},
		"collinear":          {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, 0, 0},
		"repeated":           {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, 2, 0},
		"repeated at ends":   {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}, {Lon: 0, Lat: 0}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, 1, 0},
		"spike":              {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 9, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 1, Lat: 2}}, 0, 1},
		"spike at the end":   {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 0, Lat: 2}, {Lon: 0, Lat: 5}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 0, Lat: 2}}, 0, 1},
		"spike at the start": {geometry.Ring{{Lon: 0, Lat: 5}, {Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 0, Lat: 2}}, geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 2, Lat: 0}, {Lon: 0, Lat: 2}}, 0, 1},
		"out and back":       {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 2, Lat: 3}, {Lon: 1, Lat: 0}}, nil, 1, 2},
		"on a line":          {geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 3, Lat: 3}, {Lon: 1, Lat: 1}, {Lon: 2, Lat: 2}}, nil, 0, 2},
		"one point":          {geometry.Ring{{Lon: 1, Lat: 1}, {Lon: 1, Lat: 1}, {Lon: 1, Lat: 1}}, nil, 2, 0},
	} {
		got := geometry.Tidy(tc.in, nil)
		if len(tc.want) == 0 {
			if len(got.Ring) >= 3 {
				t.Errorf("%s: %v is left", name, got.Ring)
			}
		} else if !slices.Equal(got.Ring, tc.want) || got.Repeats != tc.repeats || got.Spikes != tc.spikes {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTidyChangesNoAnswer asks all points of a grid with half steps.
func TestTidyChangesNoAnswer(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		r := make(geometry.Ring, 3+rng.IntN(8))
		for i := range r {
			r[i] = geometry.Point{Lon: float64(rng.IntN(4)), Lat: float64(rng.IntN(4))}
		}
		left := geometry.Tidy(r, nil).Ring
		for x := -0.5; x < 4; x += 0.5 {
			for y := -0.5; y < 4; y += 0.5 {
				want := r.Odd(geometry.Point{Lon: x, Lat: y})
				if got := left.Odd(geometry.Point{Lon: x, Lat: y}); got != want || (got && len(left) < 3) {
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
	for i := range 20_000 / sampling.Slowdown {
		var rings []geometry.Ring
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
		if seen[clear] < 1000/sampling.Slowdown {
			t.Errorf("%v occurred %d times only", clear, seen[clear])
		}
	}
}

// starRing is a ring round a point that mostly, as its distances vary, does not meet itself.
func starRing(rng *rand.Rand, n int) geometry.Ring {
	r := make(geometry.Ring, n)
	at := geometry.Point{Lon: float64(rng.IntN(6)), Lat: float64(rng.IntN(6))}
	for i := range r {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		d := 0.5 + rng.Float64()
		r[i] = geometry.Point{Lon: at.Lon + d*cos, Lat: at.Lat + d*sin}
	}
	return geometry.Tidy(r, nil).Ring
}

// TestBoxJoinGivesUp: what would take too many steps is left to the sweeper, in few steps.
func TestBoxJoinGivesUp(t *testing.T) {
	var j boxJoin
	ring := comb(3000)
	if j.clear([]geometry.Ring{ring}) {
		t.Error("a comb was clear within the budget")
	}
	if spent := joinBudget*len(ring) - j.budget; spent > joinBudget*len(ring)+leafEdges+1 {
		t.Errorf("%d steps", spent)
	}
}

func TestIsTidy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 20_000 {
		r := make(geometry.Ring, rng.IntN(7))
		for i := range r {
			r[i] = geometry.Point{Lon: float64(rng.IntN(4)), Lat: float64(rng.IntN(4))}
		}
		left := geometry.Tidy(r, nil)
		if want := len(r) >= 3 && slices.Equal(left.Ring, r); r.IsTidy() != want {
			t.Fatalf("%v: isTidy is %v, but tidy leaves %v", r, r.IsTidy(), left.Ring)
		}
	}
}
