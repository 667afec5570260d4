package geojson

import (
	"testing"

	"paddock/fence/geometry"
)

// TestStackedRingsSpendTheBudget: rings whose boxes all hold the others' vertices cost no more than
// the budget, though a hole is not compared with other parts and so needs no closer look.
func TestStackedRingsSpendTheBudget(t *testing.T) {
	const n = 1000
	in := inspector{workspace: new(workspace), budget: 10 * n}
	shells := map[int]int{}
	for part := range n {
		shells[part] = 2 * part
		far := float64(2 * part)
		shell := geometry.Ring{{Lon: far, Lat: 50}, {Lon: far + 1, Lat: 50}, {Lon: far, Lat: 51}}
		hole := geometry.Ring{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 1, Lat: 1}}
		in.rings = append(in.rings, tidyRing{part, 0, shell}, tidyRing{part, 1, hole})
	}
	in.stacked(shells)
	if in.budget > 0 || in.budget < -2*n {
		t.Errorf("%d of the budget is left", in.budget)
	}
}
