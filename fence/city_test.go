package fence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// TestRealData asks every kind about vertices, midpoints and points beside them, and compares
// with the oracle behind an exact box test.
func TestRealData(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(27, 28))
	for set := range sharedCity(t).All() {
		reference := set.Snapshot()
		others := map[fence.Kind]*fence.Snapshot{fence.DefaultKind: reference}
		for _, kind := range fence.Kinds() {
			if kind != fence.DefaultKind {
				others[kind] = reindexed(t, reference, kind)
			}
		}
		var boxes []geometry.Box
		for _, f := range reference.All() {
			boxes = append(boxes, f.Geometry.Bounds())
		}
		edges := oddEdges(reference)
		for _, p := range cityPoints(rng, reference, 60/sampling.Slowdown) {
			var want []fence.Ref
			parity := 0
			for r, f := range reference.All() {
				if boxes[r].Contains(p) && oracleHolds(f.Geometry, p) {
					want = append(want, r)
				}
			}
			for _, e := range edges {
				if eastOf(e[0], e[1], p) {
					parity++
				}
			}
			if proper := len(want)%2 == parity%2; !proper {
				t.Errorf("%s: %v has owners %v, but the edges that occur once say otherwise", set.Name(), p, want)
			}
			for kind, s := range others {
				if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
					t.Fatalf("%s, %s: %v has owners %v, want %v", set.Name(), kind, p, got, want)
				}
			}
		}
	}
}

// reindexed is the snapshot with another kind of index.
func reindexed(t *testing.T, s *fence.Snapshot, kind fence.Kind) *fence.Snapshot {
	t.Helper()
	var areas []geometry.MultiPolygon
	for _, f := range s.All() {
		areas = append(areas, f.Geometry)
	}
	return newSet(t, kind, areas...).Snapshot()
}

// oddEdges lists the undirected edges that occur an odd number of times in the set.
func oddEdges(s *fence.Snapshot) (odd [][2]geometry.Point) {
	edges := map[[2]geometry.Point]int{}
	for _, f := range s.All() {
		for _, part := range f.Geometry {
			for _, ring := range part {
				for i, a := range ring {
					b := ring[(i+1)%len(ring)]
					if b.Lat < a.Lat || (b.Lat == a.Lat && b.Lon < a.Lon) {
						a, b = b, a
					}
					edges[[2]geometry.Point{a, b}]++
				}
			}
		}
	}
	for e, n := range edges {
		if n%2 == 1 {
			odd = append(odd, e)
		}
	}
	return odd
}

// cityPoints gives n hard points of fences of the set, spread over it.
func cityPoints(rng *rand.Rand, s *fence.Snapshot, n int) []geometry.Point {
	var at []geometry.Point
	for s.Len() > 0 && len(at) < n {
		f := s.Fence(fence.Ref(rng.IntN(s.Len())))
		pts := hardPoints(rng, f.Geometry)
		for range 4 {
			at = append(at, pts[rng.IntN(len(pts))])
		}
	}
	return at
}

// TestOutlinesOfRealData asks about paths from such points, short and long, and what is near them.
func TestOutlinesOfRealData(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(29, 30))
	for set := range sharedCity(t).All() {
		all, quick := reindexed(t, set.Snapshot(), fence.KindBrute), set.Snapshot()
		for _, p := range cityPoints(rng, all, 60/sampling.Slowdown) {
			by := []float64{1e-6, 1e-4, 1e-2}[rng.IntN(3)]
			q := geometry.Point{Lon: p.Lon + by*rng.NormFloat64(), Lat: p.Lat + by*rng.NormFloat64()}
			if got, want := quick.AppendAlong(nil, p, q), all.AppendAlong(nil, p, q); !slices.Equal(got, want) {
				t.Fatalf("%s: %v to %v: %v, want %v", set.Name(), p, q, got, want)
			}
			near := all.AppendNear(nil, q.Lon, q.Lat, 5000, 6)
			if got := quick.AppendNear(nil, q.Lon, q.Lat, 5000, 6); !slices.Equal(got, near) {
				t.Fatalf("%s: %v: near %v, want %v", set.Name(), q, got, near)
			}
			for _, n := range near {
				if c := quick.Clearance(q.Lon, q.Lat); c > math.Abs(n.Distance) {
					t.Fatalf("%s: %v has %v m, but %d is at %v m", set.Name(), q, c, n.Ref, n.Distance)
				}
			}
		}
	}
}
