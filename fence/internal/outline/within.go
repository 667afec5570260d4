package outline

import (
	"math"

	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Within implements Outline. Of a fence with several parts near p it asks the fence, as the
// boundary of their union may be further away; so it does for lines, and where places near p may be
// beyond the antimeridian or a pole.
func (x *tree) Within(e *index.Entry, p geometry.Point, most float64) float64 {
	near := geometry.Box{MinLon: p.Lon, MinLat: p.Lat, MaxLon: p.Lon, MaxLat: p.Lat}.Widened(most)
	if len(e.Fence.Lines) > 0 || e.Edges <= pieceEdges || atAnEnd(&near) {
		return min(math.Abs(e.Fence.Distance(p)), most)
	}
	n := nearEdges{Metric: geometry.MetricAt(p), least: most, part: -1, box: near}
	if e.Edges > fewEdges {
		x.look(e, &n)
	} else {
		lookAtAll(e, &n)
	}
	beside := !n.several && n.part >= 0 && len(e.Fence.Geometry) > 1 && isHeldBeside(e, int(n.part), p)
	switch {
	case n.several, beside && e.Extent.MinLon <= -180 && e.Extent.MaxLon >= 180: // which may have seams
		return min(math.Abs(e.Fence.Distance(p)), most)
	case beside:
		return most // the near part is not the boundary there
	}
	return n.least
}

// atAnEnd reports whether the box reaches the antimeridian or a pole.
func atAnEnd(b *geometry.Box) bool {
	return b.MinLon <= -180 || b.MaxLon >= 180 || b.MinLat <= -90 || b.MaxLat >= 90
}

// fewEdges is how many edges a fence has whose pieces are faster looked at one by one.
const fewEdges = 256 * pieceEdges

// nearEdges is the search for the nearest edge of a fence.
type nearEdges struct {
	geometry.Metric
	box     geometry.Box // around all places that are near enough
	least   float64
	part    int32 // that has an edge near, -1 for none
	several bool  // several parts have
}

func (n *nearEdges) piece(pc *piece) {
	n.several = n.several || n.part >= 0 && n.part != pc.part
	n.part = pc.part
	c := pc.chain()
	from, to := int(pc.from), pc.end(&c)
	n.least = n.Chain(c.vertices[from], c.vertices[from+1:min(to+1, len(c.vertices))], n.least, &n.box)
	if to == len(c.vertices) { // the edge that closes the ring
		n.least = n.Chain(c.vertices[to-1], c.vertices[:1], n.least, &n.box)
	}
}

// look finds the pieces of a fence in the tree.
func (x *tree) look(e *index.Entry, n *nearEdges) {
	b := &n.box
	x.tree.Search([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, func(_, _ [2]float64, pc piece) bool {
		if pc.entry == e {
			n.piece(&pc)
		}
		return true
	})
}

// lookAtAll looks at all pieces of a fence.
func lookAtAll(e *index.Entry, n *nearEdges) {
	all := piecesOf(e)
	for i := range all {
		if all[i].Box.Intersects(n.box) {
			n.piece(&piece{e, all[i].Part, all[i].Ring, all[i].From})
		}
	}
}

func piecesOf(e *index.Entry) []index.Piece {
	return e.Pieces(func() (all []index.Piece) {
		pieces(e, func(pc piece) {
			all = append(all, index.Piece{Box: pc.box(), Part: pc.part, Ring: pc.ring, From: pc.from})
		})
		return all
	})
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
