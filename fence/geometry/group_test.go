package geometry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// groupByPairs is groupByBox by its definition: each ring is compared with all groups.
func groupByPairs(rings Polygon) MultiPolygon {
	var parts MultiPolygon
	var boxes []Box
	for _, r := range rings {
		box := Polygon{r}.Bounds()
		merged := Polygon{}
		for i := 0; i < len(parts); {
			if !boxes[i].Intersects(box) {
				i++
				continue
			}
			merged, box = append(merged, parts[i]...), box.Union(boxes[i])
			parts, boxes = slices.Delete(parts, i, i+1), slices.Delete(boxes, i, i+1)
			i = 0
		}
		parts, boxes = append(parts, append(merged, r)), append(boxes, box)
	}
	return parts
}

func TestGroupByBox(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(41, 41))
	for range 2000 {
		world := 2 + rng.IntN(100)
		var rings Polygon
		for range rng.IntN(80) {
			w, s := float64(rng.IntN(world)), float64(rng.IntN(world))
			e, n := w+float64(rng.IntN(4)), s+float64(rng.IntN(4))
			rings = append(rings, Ring{{w, s}, {e, s}, {e, n}})
		}
		if len(rings) > 0 && rng.IntN(10) == 0 {
			rings[rng.IntN(len(rings))] = []Ring{nil, {{math.NaN(), 1}}}[rng.IntN(2)]
		}
		if got, want := groupByBox(rings), groupByPairs(rings); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v\n%v, want\n%v", rings, got, want)
		}
	}
}

// TestGroupManyRings: neither rings apart from each other nor rings that all meet take a step for
// each pair of them.
func TestGroupManyRings(t *testing.T) {
	t.Parallel()
	const n = 1 << 17
	var apart, stacked Polygon
	for i := range n {
		x, y := float64(i%512), float64(i/512)
		apart = append(apart, Ring{{x, y}, {x + 0.5, y}, {x, y + 0.5}})
		stacked = append(stacked, Ring{{0, 0}, {x + 1, 0}, {0, y + 1}})
	}
	if got := len(groupByBox(apart)); got != n {
		t.Errorf("%d parts", got)
	}
	if got := groupByBox(stacked); len(got) != 1 || !slices.EqualFunc(got[0], stacked, slices.Equal) {
		t.Errorf("%d parts", len(got))
	}
}
