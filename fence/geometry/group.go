package geometry

import (
	"slices"

	"github.com/tidwall/rtree"
)

// groupByBox makes a part of the rings whose boxes meet, directly or through others: parity
// within parts and union between them then give what parity in the whole gives.
func groupByBox(rings Polygon) MultiPolygon {
	g := grouping{groups: make([]group, len(rings))}
	for i, r := range rings {
		g.add(i, Polygon{r}.Bounds())
	}
	var parts MultiPolygon
	for i := range rings {
		if !g.groups[i].joined {
			parts = append(parts, g.part(rings, i))
		}
	}
	return parts
}

// grouping makes groups of rings. Each is known by the index of its last ring.
type grouping struct {
	groups []group
	tree   rtree.RTreeG[int] // without the joined ones: their boxes do not meet
}

type group struct {
	box    Box
	others []int // groups that the last ring joined, in order
	joined bool  // to another
}

// add makes a group of a ring and of all groups that meet its box, or the box around both.
func (g *grouping) add(ring int, box Box) {
	if box.Empty() {
		return
	}
	var others []int
	for due := g.take(nil, box); len(due) > 0; due = g.take(due[1:], box) {
		others, box = append(others, due[0]), box.Union(g.groups[due[0]].box)
	}
	g.groups[ring] = group{box: box, others: others}
	g.tree.Insert([2]float64{box.MinLon, box.MinLat}, [2]float64{box.MaxLon, box.MaxLat}, ring)
}

// take removes the groups that meet a box from the tree, and returns them with others that are due,
// in order.
func (g *grouping) take(due []int, box Box) []int {
	known := len(due)
	g.tree.Search([2]float64{box.MinLon, box.MinLat}, [2]float64{box.MaxLon, box.MaxLat}, func(_, _ [2]float64, i int) bool {
		due = append(due, i)
		return true
	})
	for _, i := range due[known:] {
		b := &g.groups[i].box
		g.tree.Delete([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, i)
		g.groups[i].joined = true
	}
	if len(due) > known {
		slices.Sort(due)
	}
	return due
}

// part returns the rings of a group: those of the groups that its last ring joined, and that ring.
func (g *grouping) part(rings Polygon, last int) Polygon {
	var part Polygon
	for todo := []int{last}; len(todo) > 0; { // from the end to the beginning
		i := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], g.groups[i].others...)
		part = append(part, rings[i])
	}
	slices.Reverse(part)
	return part
}
