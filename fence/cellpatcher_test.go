package fence

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
)

// district is a square of some size over the south-western part of the crooked grid.
func district(rng *rand.Rand, size float64) geometry.MultiPolygon {
	b := geometry.Box{MinLon: -73.9 - rng.Float64()/100, MinLat: 40.1 - rng.Float64()/100, MaxLon: -73.9 + size, MaxLat: 40.1 + size}
	return geometry.MultiPolygon{{boxRing(b)}}
}

// TestEditsAmongStackedFences: where fences lie upon each other each cell that an edit touches
// has all of them. The edit looks at no more than patchLooks says, and what is one step
// beyond; a fence for which that is not enough is kept beside the cells. Answers are the same.
func TestEditsAmongStackedFences(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		districts int
		size      float64 // of the edited one; the others are 0.35 degrees wide
		inCells   bool
	}{
		{20, 0.05, true},
		{60, 0.22, false}, // too many edges in its cells and to the east of them
		{30, 0.35, false}, // too many fences in its cells
	} {
		t.Run(fmt.Sprintf("%v degrees among %d", tc.size, tc.districts), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(101, 102))
			areas := crookedGrid(rng, 40)
			for range tc.districts {
				areas = append(areas, district(rng, 0.35))
			}
			s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas)
			base, edges := w.Base, s.Snapshot().Stats().Edges
			next := district(rng, tc.size)
			putFence(t, s, "another", next)
			checkPatched(t, s.Snapshot(), w.Rule, hardSpots(rng, base, next, 5))
			looks := w.Patcher.Looks
			t.Logf("%d looks at %d fences", looks, len(w.Patcher.Refs))
			if looks == 0 || looks > cellmap.PatchLooks+edges {
				t.Errorf("an edit among %d edges took %d looks", edges, looks)
			}
			if inCells := len(w.InOver) == 0; inCells != tc.inCells {
				t.Errorf("%d fences are beside the cells", len(w.InOver))
			}
		})
	}
}
