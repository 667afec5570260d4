package cellmap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
	"paddock/internal/sampling"
)

// cellmapOf indexes a fence for each geometry.
func cellmapOf(r geometry.Rule, areas ...geometry.MultiPolygon) *Map {
	var entries []*index.Entry
	for i, a := range areas {
		entries = append(entries, index.NewEntry(geojson.Ref(i), &geojson.Fence{Geometry: a}, nil))
	}
	return buildCellmap(entries, r)
}

// checkCellmap compares the answers with those of the geometries themselves.
func checkCellmap(t *testing.T, m *Map, areas []geometry.MultiPolygon, points []geometry.Point) {
	t.Helper()
	for _, p := range points {
		var want []geojson.Ref
		for i, a := range areas {
			if a.Decide(m.rule, p) {
				want = append(want, geojson.Ref(i))
			}
		}
		if got := m.append(nil, p); !slices.Equal(got, want) {
			t.Fatalf("rule %d, %v: %v, want %v", m.rule, p, got, want)
		}
	}
}

// needle is a triangle that is long and thin, and crosses many cells at a slant.
func needle(rng *rand.Rand) geometry.MultiPolygon {
	a := geometry.Point{Lon: rng.Float64() * 4, Lat: rng.Float64() * 4}
	turn, length := rng.Float64()*2*math.Pi, 1+rng.Float64()*3
	b := geometry.Point{Lon: a.Lon + length*math.Cos(turn), Lat: a.Lat + length*math.Sin(turn)}
	return geometry.MultiPolygon{{{a, b, {Lon: b.Lon + rng.Float64()/50, Lat: b.Lat + rng.Float64()/50}}}}
}

// TestCutEdges: edges that are long beside their cells are cut off, and units decide about
// every point that is not close to them, as the coordinates would.
func TestCutEdges(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	var areas []geometry.MultiPolygon
	for range 150 {
		areas = append(areas, needle(rng))
	}
	for _, r := range []geometry.Rule{geometry.HalfOpen, geometry.Closed, geometry.Open} {
		m := cellmapOf(r, areas...)
		var points []geometry.Point
		for range 4000 {
			ring := areas[rng.IntN(len(areas))][0][0]
			a, b := ring[0], ring[1+rng.IntN(2)]
			s, beside := rng.Float64(), math.Ldexp(rng.Float64()-0.5, -rng.IntN(30))
			points = append(points, geometry.Point{Lon: a.Lon + s*(b.Lon-a.Lon) + beside, Lat: a.Lat + s*(b.Lat-a.Lat)})
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
func checkUnits(t *testing.T, m *Map, p geometry.Point) (cut, decided int) {
	t.Helper()
	entry, at := m.find(p)
	if entry < EntryCell || entry >= EntryNode {
		return 0, 0
	}
	record := entry & entryMask
	head := m.Words[record]
	if head&recordLocals == wideRecord {
		return 0, 0
	}
	locals, edges := head&recordLocals, head>>edgesShift&recordEdges
	first := record + 1 + locals
	for i := range edges {
		e := m.Words[first+i*edgeWords:][:edgeWords]
		lo, hi := m.ends(m.Words[first+edges*edgeWords+i])
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
func star(rng *rand.Rand, centre geometry.Point, n int) geometry.Ring {
	var r geometry.Ring
	for i := range n {
		turn := 2 * math.Pi * (float64(i) + rng.Float64()/2) / float64(n)
		near := math.Ldexp(rng.Float64(), -unitBits-1)
		r = append(
			r,
			geometry.Point{Lon: centre.Lon + math.Cos(turn), Lat: centre.Lat + math.Sin(turn)},
			geometry.Point{Lon: centre.Lon + near*math.Cos(turn), Lat: centre.Lat + near*math.Sin(turn)},
		)
	}
	return r
}

// around gives points at a centre and in all directions from it, at distances from some ulp
// to all of its cell.
func around(rng *rand.Rand, centre geometry.Point, n int) []geometry.Point {
	points := []geometry.Point{centre}
	for range n {
		turn, far := rng.Float64()*2*math.Pi, math.Ldexp(rng.Float64(), -18-rng.IntN(30))
		points = append(points, geometry.Point{Lon: centre.Lon + far*math.Cos(turn), Lat: centre.Lat + far*math.Sin(turn)})
	}
	return points
}

// TestWideRecords: cells with more parts or edges than the usual record has room for, up to
// where masks have no room on the stack, answer as others do.
func TestWideRecords(t *testing.T) {
	t.Parallel()
	centre := geometry.Point{Lon: -73.96, Lat: 40.78}
	for _, tc := range []struct{ fences, edges int }{
		{16, 4}, {17, 4}, {40, 60}, {fewLocals + 88, 4}, {1, 2040}, {1, 2148},
	} {
		t.Run(fmt.Sprintf("%d fences of %d edges", tc.fences, tc.edges), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(83, 84))
			var areas []geometry.MultiPolygon
			for range tc.fences {
				areas = append(areas, geometry.MultiPolygon{{star(rng, centre, (tc.edges+1)/2)}})
			}
			for _, r := range []geometry.Rule{geometry.HalfOpen, geometry.Closed, geometry.Open} {
				m := cellmapOf(r, areas...)
				entry, _ := m.find(centre)
				record := m.Words[entry&entryMask:]
				if isWide := record[0] == wideRecord; entry < EntryCell || isWide != (tc.fences > 16 || tc.edges > 2047) {
					t.Fatalf("the entry is %#x, its record begins with %#x", entry, record[0])
				}
				var points []geometry.Point
				for i, p := range around(rng, centre, 200/sampling.Slowdown) {
					spike := areas[i%len(areas)][0][0][1] // a vertex in the same cell
					points = append(points, spike, p)
				}
				checkCellmap(t, m, areas, points)
			}
		})
	}
}
