package fence

import "io"

// ReadParents reads the areas of a GeoJSON document for Options.Parents. The errors are those
// of ReadGeoJSON; features that give no area are left out.
func ReadParents(r io.Reader, file string, o ReadOptions) ([]MultiPolygon, error) {
	c, err := ReadGeoJSON(r, file, o)
	if err != nil {
		return nil, err
	}
	var areas []MultiPolygon
	for i := range c.Fences {
		areas = append(areas, c.Fences[i].Geometry)
	}
	return areas, nil
}

// parent is one part of a parent polygon, by which the city kinds group fences.
type parent struct {
	rings Polygon
	box   Box
	part  preparedPart
}

// newParents prepares the parts that have vertices.
func newParents(areas []MultiPolygon) []parent {
	var ps []parent
	for _, area := range areas {
		for _, rings := range area {
			if box := rings.Bounds(); !box.Empty() {
				ps = append(ps, parent{rings, box, prepare(rings)})
			}
		}
	}
	return ps
}

// holds reports whether the parent holds p. Half-open will do for every Boundary, since no
// member comes near its parent's edges.
func (pa *parent) holds(p Point) bool { return pa.box.Contains(p) && pa.part.holds(p) }

// groupOf is the ordinal, and one, of the first parent that the i-th part is proven to be
// within; 0 if there is none.
func groupOf(parents []parent, e *entry, i int) int32 {
	for k := range parents {
		if parents[k].surrounds(e.fence.Geometry[i], e.boxes[i], e.parts[i]) {
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
func (pa *parent) surrounds(rings Polygon, box Box, part preparedPart) bool {
	if !pa.box.Contains(Point{box.MinLon, box.MinLat}) || !pa.box.Contains(Point{box.MaxLon, box.MaxLat}) {
		return false
	}
	for i := range pa.part {
		if pa.part[i].box.Intersects(box) && part.meets(&pa.part[i]) {
			return false
		}
	}
	for _, r := range rings {
		if len(r) > 0 && !pa.part.holds(r[0]) {
			return false
		}
	}
	for _, r := range pa.rings {
		if len(r) > 0 && part.holds(r[0]) {
			return false
		}
	}
	return true
}

// meets reports whether an edge of the part has a point in common with one of the chain.
func (part preparedPart) meets(c *chain) bool {
	for i := range part {
		if part[i].box.Intersects(c.box) && part[i].meets(c) {
			return true
		}
	}
	return false
}

func (c *chain) meets(o *chain) bool {
	for i := range c.edges() {
		a, b := c.edge(i)
		for j := range o.edges() {
			if p, q := o.edge(j); edgesMeet(a, b, p, q) {
				return true
			}
		}
	}
	return false
}

// edges is the number of edges: a chain of one vertex has one, to itself.
func (c *chain) edges() int { return max(len(c.vertices)-1, 1) }

func (c *chain) edge(i int) (Point, Point) {
	return c.vertices[i], c.vertices[min(i+1, len(c.vertices)-1)]
}

// edgesMeet reports whether the closed edges a-b and p-q have a point in common, exactly.
func edgesMeet(a, b, p, q Point) bool {
	if max(a.Lon, b.Lon) < min(p.Lon, q.Lon) || max(p.Lon, q.Lon) < min(a.Lon, b.Lon) ||
		max(a.Lat, b.Lat) < min(p.Lat, q.Lat) || max(p.Lat, q.Lat) < min(a.Lat, b.Lat) {
		return false
	}
	// With boxes that meet, edges are apart only if one is all to one side of the other's line.
	return orient(a, b, p)*orient(a, b, q) <= 0 && orient(p, q, a)*orient(p, q, b) <= 0
}
