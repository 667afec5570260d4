package fence_test

import (
	"math"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// FuzzOutlines: for whatever areas, and lines of the same vertices, a path meets a fence that holds
// one of its ends, all ways to find boundaries agree, and no boundary is nearer than the clearance.
// Vertices and ends are on a small grid, so that paths go through vertices and along edges.
func FuzzOutlines(f *testing.F) {
	square := []byte{0, 0, 10, 0, 10, 10, 0, 10}
	f.Add(square, int16(0), int16(0), uint8(3), []byte{0, 5, 10, 5, 20, 5, 5, 5})
	f.Add(append(slices.Clone(square), 129, 10, 0, 20, 0, 20, 10, 10, 10), int16(1440), int16(320), uint8(8), []byte{5, 5, 15, 5, 0, 0, 10, 10})
	f.Add(append(slices.Clone(square), 0, 10, 0, 20, 0, 10), int16(-1440), int16(-500), uint8(5), []byte{246, 15, 10, 15, 0, 15, 0, 30})
	f.Add(append(slices.Clone(square), 127, 3, 3, 6, 3, 6, 6, 3, 6), int16(100), int16(700), uint8(1), []byte{4, 4, 4, 20, 3, 3, 6, 6})
	f.Fuzz(func(t *testing.T, data []byte, lon, lat int16, scale uint8, ways []byte) {
		if len(data) > 200 || len(ways) > 40 {
			return
		}
		d := drawing{x0: float64(lon%1441) / 8, y0: float64(lat%721) / 8, unit: math.Exp2(-2 - float64(scale%16))}
		c := &geojson.Collection{}
		for _, area := range d.areas(data) {
			c.Fences = append(c.Fences, fence.Fence{Geometry: area})
			if l := geometry.Line(area[0][0]); len(l) > 1 && l[0] != l[1] {
				c.Fences = append(c.Fences, fence.Fence{Lines: geometry.MultiLine{l}})
			}
		}
		if len(c.Fences) == 0 {
			return
		}
		s := &outlineScene{}
		sets := outlinePair(t, c)
		for ; len(ways) >= 4; ways = ways[2:] {
			a, b := d.at(int8(ways[0]), int8(ways[1])), d.at(int8(ways[2]), int8(ways[3]))
			compareOutlines(t, sets, a, b, 1e5, 3)
			s.checkEnds(t, sets[0].Snapshot(), a, b)
			least := math.Inf(1)
			for _, f := range sets[0].Snapshot().All() {
				least = min(least, math.Abs(f.Distance(a)))
			}
			if got := sets[1].Snapshot().Clearance(a.Lon, a.Lat); got > least {
				t.Fatalf("%v: %v m, but a boundary is at %v m", a, got, least)
			}
		}
	})
}

// outlinePair is a set that asks every fence, and one that does not: half of its fences came later.
func outlinePair(t *testing.T, c *geojson.Collection) []*fence.Set {
	t.Helper()
	brute, quick := mustSet(t, fence.Options{Kind: fence.KindBrute}), mustSet(t, fence.Options{})
	for i, f := range c.Fences {
		for _, s := range []*fence.Set{brute, quick} {
			if _, _, err := s.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		if i == len(c.Fences)/2 {
			quick.Snapshot().Clearance(0, 0)
		}
	}
	return []*fence.Set{brute, quick}
}
