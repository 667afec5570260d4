package geojson

import (
	"github.com/tidwall/rtree"

	"paddock/fence/geometry"
)

// nesting looks for holes outside their shells or within other holes, and for parts within
// others. The rings are known not to cross, so one point of a ring that is not on the other
// tells for the whole.
func (in *inspector) nesting() {
	shells := map[int]int{} // by part: its first ring
	for i, r := range in.rings {
		if _, ok := shells[r.part]; !ok {
			shells[r.part] = i
			continue
		}
		shell := in.rings[shells[r.part]]
		if p, inside, known := in.relation(r, geometry.Polygon{shell.vertices}); known && !inside {
			in.found(CodeHoleOutside, r.part, r.ring, &p, "the hole is outside its shell")
		}
	}
	if len(in.rings) > 2 || len(shells) > 1 {
		in.stacked(shells)
	}
}

// stacked looks at each ring and those whose boxes hold one of its vertices. Each pair costs one of
// the budget.
func (in *inspector) stacked(shells map[int]int) {
	var tree rtree.RTreeG[int]
	for i, r := range in.rings {
		box := geometry.Polygon{r.vertices}.Bounds()
		tree.Insert([2]float64{box.MinLon, box.MinLat}, [2]float64{box.MaxLon, box.MaxLat}, i)
	}
	for i, r := range in.rings {
		at := [2]float64{r.vertices[0].Lon, r.vertices[0].Lat}
		isShell := shells[r.part] == i
		tree.Search(at, at, func(_, _ [2]float64, j int) bool {
			in.budget--
			o := in.rings[j]
			samePart, otherIsShell := r.part == o.part, shells[o.part] == j
			found := false
			switch {
			case isShell && otherIsShell && !samePart:
				found = in.partWithin(r, in.rings[j:])
			case !isShell && !otherIsShell && samePart && i != j:
				found = in.holeWithin(r, o)
			}
			return !found && in.budget > 0
		})
	}
}

func (in *inspector) holeWithin(r, o tidyRing) bool {
	p, inside, known := in.relation(r, geometry.Polygon{o.vertices})
	if known && inside {
		in.found(CodeNestedHoles, r.part, r.ring, &p, "the hole is within the hole of ring %d", o.ring)
	}
	return known && inside
}

// partWithin is about the shell r and another part, whose rings are the first of those given.
func (in *inspector) partWithin(r tidyRing, rings []tidyRing) bool {
	part := rings[0].part
	var pg geometry.Polygon
	for _, o := range rings {
		if o.part != part {
			break
		}
		pg = append(pg, o.vertices)
	}
	p, inside, known := in.relation(r, pg)
	if known && inside {
		in.found(CodePartsOverlap, r.part, r.ring, &p, "the part is within part %d", part)
	}
	return known && inside
}

// relation tells by the first vertex of r that is not on an edge of pg whether r is inside.
// It is not known if all are, or if the budget is spent.
func (in *inspector) relation(r tidyRing, pg geometry.Polygon) (p geometry.Point, inside, known bool) {
	for _, p := range r.vertices {
		for _, o := range pg {
			in.budget -= len(o)
		}
		if in.budget < 0 {
			return p, false, false
		}
		if !pg.Touches(p) {
			return p, pg.Decide(geometry.HalfOpen, p), true
		}
	}
	return p, false, false
}
