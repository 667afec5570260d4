package fence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// cellmapOf indexes a fence for each geometry.
func cellmapOf(r rule, areas ...MultiPolygon) *cellmap {
	var entries []*entry
	for i, a := range areas {
		entries = append(entries, newEntry(Ref(i), &Fence{Geometry: a}, nil))
	}
	return buildCellmap(entries, r)
}

// checkCellmap compares the answers with those of the geometries themselves.
func checkCellmap(t *testing.T, m *cellmap, areas []MultiPolygon, points []Point) {
	t.Helper()
	for _, p := range points {
		var want []Ref
		for i, a := range areas {
			if a.decide(m.rule, p) {
				want = append(want, Ref(i))
			}
		}
		if got := m.append(nil, p); !slices.Equal(got, want) {
			t.Fatalf("rule %d, %v: %v, want %v", m.rule, p, got, want)
		}
	}
}

// needle is a triangle that is long and thin, and crosses many cells at a slant.
func needle(rng *rand.Rand) MultiPolygon {
	a := Point{rng.Float64() * 4, rng.Float64() * 4}
	turn, length := rng.Float64()*2*math.Pi, 1+rng.Float64()*3
	b := Point{a.Lon + length*math.Cos(turn), a.Lat + length*math.Sin(turn)}
	return MultiPolygon{{{a, b, {b.Lon + rng.Float64()/50, b.Lat + rng.Float64()/50}}}}
}

// TestCutEdges: edges that are long beside their cells are cut off, and units decide about
// every point that is not close to them, as the coordinates would.
func TestCutEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	var areas []MultiPolygon
	for range 150 {
		areas = append(areas, needle(rng))
	}
	for _, r := range []rule{halfOpen, closed, open} {
		m := cellmapOf(r, areas...)
		var points []Point
		for range 4000 {
			ring := areas[rng.IntN(len(areas))][0][0]
			a, b := ring[0], ring[1+rng.IntN(2)]
			s, beside := rng.Float64(), math.Ldexp(rng.Float64()-0.5, -rng.IntN(30))
			points = append(points, Point{a.Lon + s*(b.Lon-a.Lon) + beside, a.Lat + s*(b.Lat-a.Lat)})
		}
		checkCellmap(t, m, areas, points)
		cut, decided := 0, 0
		for _, p := range points {
			c, d := checkUnits(t, m, p)
			cut, decided = cut+c, decided+d
		}
		if cut < len(points) || decided < cut/2 {
			t.Errorf("of %d edges that were cut off units decided about %d: the test is too easy", cut, decided)
		}
	}
}

// checkUnits checks what units say about p and each edge of its cell's record. It counts the
// edges that are cut off, and those of them about which units decide.
func checkUnits(t *testing.T, m *cellmap, p Point) (cut, decided int) {
	t.Helper()
	entry, at := m.find(p)
	if entry < entryCell || entry >= entryNode {
		return 0, 0
	}
	record := entry & entryMask
	head := m.words[record]
	if head&recordLocals == wideRecord {
		return 0, 0
	}
	locals, edges := head&recordLocals, head>>edgesShift&recordEdges
	first := record + 1 + locals
	for i := range edges {
		e := m.words[first+i*edgeWords:][:edgeWords]
		lo, hi := m.ends(m.words[first+edges*edgeWords+i])
		flips, unsure := crossUnits(e, at)
		if !unsure && (flips != 0) != crosses(lo, hi, e[2], p) {
			t.Fatalf("%v and the edge %v %v: units say that it is crossed: %v", p, lo, hi, flips != 0)
		}
		x, y := float64(int16(e[0])), float64(int32(e[0])>>16)
		dx, dy := float64(int16(e[1])), float64(e[1]>>16)
		px, py := float64(at.x)-x, float64(at.y)-y
		if min(x, x+dx, y) <= windowMin+1 || max(x, x+dx, y+dy) >= windowMax-1 {
			cut++
			if !unsure {
				decided++
			}
		}
		// The bound of the determinant, as a distance.
		near := (2*(math.Abs(dx)+dy) + unsureSlack + 1) / math.Hypot(dx, dy)
		if far := math.Abs(dx*py-dy*px)/math.Hypot(dx, dy) > near; unsure && far && py != 0 && py != dy {
			t.Fatalf("%v, far from the edge %v %v: units do not decide", p, lo, hi)
		}
	}
	return cut, decided
}

// star has n edges into one spot and n out of it, all within a unit there.
func star(rng *rand.Rand, centre Point, n int) Ring {
	var r Ring
	for i := range n {
		turn := 2 * math.Pi * (float64(i) + rng.Float64()/2) / float64(n)
		near := math.Ldexp(rng.Float64(), -unitBits-1)
		r = append(
			r,
			Point{centre.Lon + math.Cos(turn), centre.Lat + math.Sin(turn)},
			Point{centre.Lon + near*math.Cos(turn), centre.Lat + near*math.Sin(turn)},
		)
	}
	return r
}

// around gives points at a centre and in all directions from it, at distances from some ulp
// to all of its cell.
func around(rng *rand.Rand, centre Point, n int) []Point {
	points := []Point{centre}
	for range n {
		turn, far := rng.Float64()*2*math.Pi, math.Ldexp(rng.Float64(), -18-rng.IntN(30))
		points = append(points, Point{centre.Lon + far*math.Cos(turn), centre.Lat + far*math.Sin(turn)})
	}
	return points
}

// TestWideRecords: cells with more parts or edges than the usual record has room for, up to
// where masks have no room on the stack, answer as others do.
func TestWideRecords(t *testing.T) {
	t.Parallel()
	centre := Point{-73.96, 40.78}
	for _, tc := range []struct{ fences, edges int }{
		{16, 4}, {17, 4}, {40, 60}, {fewLocals + 88, 4}, {1, 2040}, {1, 2148},
	} {
		t.Run(fmt.Sprintf("%d fences of %d edges", tc.fences, tc.edges), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(83, 84))
			var areas []MultiPolygon
			for range tc.fences {
				areas = append(areas, MultiPolygon{{star(rng, centre, (tc.edges+1)/2)}})
			}
			for _, r := range []rule{halfOpen, closed, open} {
				m := cellmapOf(r, areas...)
				entry, _ := m.find(centre)
				record := m.words[entry&entryMask:]
				if isWide := record[0] == wideRecord; entry < entryCell || isWide != (tc.fences > 16 || tc.edges > 2047) {
					t.Fatalf("the entry is %#x, its record begins with %#x", entry, record[0])
				}
				var points []Point
				for i, p := range around(rng, centre, 200/Slowdown) {
					spike := areas[i%len(areas)][0][0][1] // a vertex in the same cell
					points = append(points, spike, p)
				}
				checkCellmap(t, m, areas, points)
			}
		})
	}
}
