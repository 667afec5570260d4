package tiles

import (
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

func TestBoxesFindWhatALinearSearchFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{0, 1, 16, 17, 300, 5000} {
		var fences []fence.Fence
		for range n {
			lon, lat := random.Float64()*300-150, random.Float64()*150-75
			fences = append(fences, box("", lon, lat, lon+random.Float64()*10, lat+random.Float64()*10))
		}
		s := snapshot(t, fences...)
		b := NewBoxes(s)
		for range 50 {
			w, so := random.Float64()*300-150, random.Float64()*150-75
			q := geometry.Box{MinLon: w, MinLat: so, MaxLon: w + random.Float64()*60, MaxLat: so + random.Float64()*60}
			var want, got []fence.Ref
			for r, f := range s.All() {
				if f.Geometry.Bounds().Intersects(q) {
					want = append(want, r)
				}
			}
			b.Walk(q, func(geometry.Box, int) bool { return false }, func(r fence.Ref, at geometry.Box) bool {
				if at != s.Fence(r).Geometry.Bounds() {
					t.Errorf("fence %d: box %v", r, at)
				}
				got = append(got, r)
				return true
			})
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%d fences, %v: got %v, want %v", n, q, got, want)
			}
		}
	}
}

// Groups are counted with the number of their fences, and a false result of each ends the walk.
func TestBoxesGroups(t *testing.T) {
	s := snapshot(t, tessellation(50, 0, 0, 10)...)
	b := NewBoxes(s)
	world := geometry.Box{MinLon: -180, MinLat: -90, MaxLon: 180, MaxLat: 90}
	for _, largest := range []int{1, 16, 256, 4096} {
		seen, single := 0, 0
		b.Walk(world, func(at geometry.Box, n int) bool {
			if n > largest {
				return false
			}
			seen += n
			return true
		}, func(fence.Ref, geometry.Box) bool { seen++; single++; return true })
		if seen != 2500 || (largest >= 16 && single > 0) {
			t.Errorf("groups of %d: %d fences, %d of them alone", largest, seen, single)
		}
	}
	visits := 0
	b.Walk(world, func(geometry.Box, int) bool { return false }, func(fence.Ref, geometry.Box) bool { visits++; return visits < 20 })
	if visits != 20 {
		t.Errorf("%d visits", visits)
	}
}
