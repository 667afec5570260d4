package index

import "paddock/fence/geometry"

// parent is one part of a parent polygon, by which the city kinds group fences.
type parent struct {
	rings geometry.Polygon
	box   geometry.Box
	part  geometry.PreparedPart
}

// newParents prepares the parts that have vertices.
func newParents(areas []geometry.MultiPolygon) []parent {
	var ps []parent
	for _, area := range areas {
		for _, rings := range area {
			if box := rings.Bounds(); !box.Empty() {
				ps = append(ps, parent{rings, box, geometry.Prepare(rings)})
			}
		}
	}
	return ps
}

// holds reports whether the parent holds p. Half-open will do for every Boundary, since no
// member comes near its parent's edges.
func (pa *parent) holds(p geometry.Point) bool {
	return pa.box.Contains(p) && pa.part.Decide(geometry.HalfOpen, p)
}

// groupOf returns k+1 for the first parent k that the i-th part is proven to be within, and 0 if
// there is none.
func groupOf(parents []parent, e *Entry, i int) int32 {
	for k := range parents {
		if parents[k].surrounds(e.Fence.Geometry[i], e.boxes[i], e.parts[i]) {
			return int32(k + 1)
		}
	}
	return 0
}

// surrounds proves that the parent holds every point of the part, its boundary included:
//
//   - no edge of the one meets an edge of the other, not even at a point; so each ring of the
//     part is wholly within the parent or wholly without, and one vertex of it tells;
//   - all are within;
//   - no ring of the parent is in the part. Then a region that the part's rings enclose has no
//     edge of the parent in it, and is within like the ring around it.
//
// This asks nothing of either: rings may cross themselves and lie about anyhow. What touches
// its parent is not proven, and is a stray.
func (pa *parent) surrounds(rings geometry.Polygon, box geometry.Box, part geometry.PreparedPart) bool {
	if !pa.box.Contains(geometry.Point{Lon: box.MinLon, Lat: box.MinLat}) || !pa.box.Contains(geometry.Point{Lon: box.MaxLon, Lat: box.MaxLat}) {
		return false
	}
	if pa.part.Meets(part, box) {
		return false
	}
	for _, r := range rings {
		if len(r) > 0 && !pa.part.Decide(geometry.HalfOpen, r[0]) {
			return false
		}
	}
	for _, r := range pa.rings {
		if len(r) > 0 && part.Decide(geometry.HalfOpen, r[0]) {
			return false
		}
	}
	return true
}
