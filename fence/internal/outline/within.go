package outline

import (
	"math"

	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Within implements Outline. Of a fence with several parts near p it asks the fence, as the
// boundary of their union may be further away; so it does for lines, and where an area may go on
// over the antimeridian or a pole.
func (x *tree) Within(e *index.Entry, p geometry.Point, most float64) float64 {
	b := &e.Extent
	if len(e.Fence.Lines) > 0 || e.Edges <= pieceEdges || b.MinLon <= -180 || b.MaxLon >= 180 || b.MinLat <= -90 || b.MaxLat >= 90 {
		return min(math.Abs(e.Fence.Distance(p)), most)
	}
	m := geometry.MetricAt(p)
	least, part, several := most, int32(-1), false
	near := geometry.Box{MinLon: p.Lon, MinLat: p.Lat, MaxLon: p.Lon, MaxLat: p.Lat}.Widened(most)
	x.tree.Search([2]float64{near.MinLon, near.MinLat}, [2]float64{near.MaxLon, near.MaxLat}, func(_, _ [2]float64, pc piece) bool {
		if pc.entry != e {
			return true
		}
		several = several || part >= 0 && part != pc.part
		part = pc.part
		c := pc.chain()
		from, to := int(pc.from), pc.end(&c)
		least = m.Chain(c.vertices[from], c.vertices[from+1:min(to+1, len(c.vertices))], least)
		if to == len(c.vertices) { // the edge that closes the ring
			least = m.Chain(c.vertices[to-1], c.vertices[:1], least)
		}
		return true
	})
	switch {
	case several:
		return min(math.Abs(e.Fence.Distance(p)), most)
	case part >= 0 && len(e.Fence.Geometry) > 1 && isHeldBeside(e, int(part), p):
		return most // the near part is not the boundary there
	}
	return least
}

// isHeldBeside reports whether another part than this one holds p.
func isHeldBeside(e *index.Entry, part int, p geometry.Point) bool {
	for i, b := range e.Boxes() {
		if i != part && b.Contains(p) && e.Fence.Geometry[i:i+1].Contains(p) {
			return true
		}
	}
	return false
}

// Within implements Outline.
func (b brute) Within(e *index.Entry, p geometry.Point, most float64) float64 {
	return min(math.Abs(e.Fence.Distance(p)), most)
}
