package fence

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
)

// TestRenewalsFollow edits a set while a cellmap is made of what it was: however fast edits come,
// the cellmap has all of them in the end, and nothing of what they undid.
func TestRenewalsFollow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(101, 102))
	areas := crookedGrid(rng, 10)
	s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas)
	r := cellmap.NewRenewal(w, s.Snapshot().table)
	edit := func() {
		key := fmt.Sprint(rng.IntN(120))
		if rng.IntN(4) == 0 {
			s.Delete(key)
			return
		}
		putFence(t, s, key, randomChange(rng, areas))
	}
	for range 200 {
		edit()
	}
	behind, all := 0, false
	for range r.Table.Changes(s.Snapshot().table) {
		behind++
	}
	for steps := 0; !all; steps++ {
		if steps > behind {
			t.Fatalf("%d steps later it does not have the %d changes of the beginning", steps, behind)
		}
		edit()
		all = r.Step(s.Snapshot().table)
	}
	snap := *s.Snapshot()
	snap.index = r.Next.Publish(snap.table)
	for _, f := range snap.All() {
		checkPatched(t, &snap, w.Rule, hardSpots(rng, w.Base, f.Geometry, 3))
	}
	if r.Next.Patch.Tiles == 0 {
		t.Error("no cell has changed: the test is too easy")
	}
}

// TestOutgrownCellmaps: a set that becomes much larger or smaller gets a cellmap of its size,
// unless all of it is replaced before.
func TestOutgrownCellmaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(103, 104))
	areas := crookedGrid(rng, 24)
	s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas[:20])
	grown := func() int {
		s.Settle()
		return w.Built
	}
	for i, a := range areas {
		putFence(t, s, fmt.Sprint(i), a)
	}
	if n := grown(); n < 4*len(areas)/cellmap.Outgrown || n > 4*len(areas) {
		t.Errorf("%d fences are in a cellmap for %d edges", len(areas), n)
	}
	if n := len(w.InOver); n > cellmap.OverlayFences {
		t.Errorf("%d fences are beside the cells", n)
	}
	for i := range areas[:len(areas)-8] {
		s.Delete(fmt.Sprint(i))
	}
	if n := grown(); n > 4*8*cellmap.Outgrown {
		t.Errorf("8 fences are in a cellmap for %d edges", n)
	}
	for _, a := range areas {
		checkPatched(t, s.Snapshot(), w.Rule, hardSpots(rng, w.Base, a, 1))
	}
	for i, a := range areas {
		if putFence(t, s, fmt.Sprint(i), a); s.Building() {
			break
		}
	}
	if _, err := s.Replace(&geojson.Collection{Fences: []Fence{{Geometry: areas[0]}}}); err != nil {
		t.Fatal(err)
	}
	s.Settle()
	if now := cellWriterOf(s.writer); now == w || now.Built != 4 || s.Building() || s.renewal != nil {
		t.Errorf("a cellmap of %d edges has taken the place of one that is newer", now.Built)
	}
	checkPatched(t, s.Snapshot(), w.Rule, hardSpots(rng, w.Base, areas[0], 20))
}
