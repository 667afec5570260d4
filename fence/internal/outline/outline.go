// Package outline finds the boundaries of the fences of a set, whatever the kind of its index:
// which of them a path crosses, which are near a point, and how far a point may move without
// meeting any.
//
// An R-tree has pieces of all rings and lines, sixteen edges long, and proposes fences. The exact
// functions of package geometry decide about them. Beside it a grid of equal cells lists the edges
// in each, and tells how many cells around a cell have none. A short path asks the lists of the few
// cells that it goes through. Where these do not tell, for a long path, a crowded cell or one in
// which a fence has changed, the tree does.
package outline

import (
	"github.com/tidwall/rtree"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Outline is the boundaries of a set at one moment. It is immutable, and safe for any number of
// goroutines.
type Outline interface {
	// AppendAlong appends the refs of the fences whose boundary the path crosses, ascending. It
	// does not allocate if dst has room.
	AppendAlong(dst []geojson.Ref, w geometry.Path) []geojson.Ref
	// AppendNear appends the fences that are at most so many metres from p, and at most so many of
	// them, the nearest first. holders are the fences that the index finds at p.
	AppendNear(dst []Near, p geometry.Point, metres float64, most int, holders []geojson.Ref) []Near
	// Within returns the distance in metres from p to the boundary of a fence, or most if it is not
	// less.
	Within(e *index.Entry, p geometry.Point, most float64) float64
	// Clearance returns a distance in metres that no boundary is nearer than, or 0.
	Clearance(p geometry.Point) float64
}

// pieceEdges is how many edges a piece has at most.
const pieceEdges = 16

// The parts of pieces that are of no part.
const (
	ofLine   = -1 // of a fence that is only crossed
	ofMiddle = -2 // of a corridor, whose box is as wide as the corridor: it is no boundary
)

// piece is a few edges in a row, of a ring or a line. It is comparable, as the tree demands.
type piece struct {
	entry            *index.Entry
	part, ring, from int32
}

// chain returns the ring or the line that the piece is of.
func (p piece) chain() chain {
	if p.part < 0 {
		return chain{p.entry.Ref, p.entry.Fence.Lines[p.ring], false}
	}
	return chain{p.entry.Ref, p.entry.Fence.Geometry[p.part][p.ring], true}
}

// end is the edge of the chain that the piece ends before.
func (p piece) end(c *chain) int { return min(int(p.from)+pieceEdges, c.edges()) }

func (p piece) box() geometry.Box {
	c := p.chain()
	b := geometry.EmptyBox()
	for i := int(p.from); i < p.end(&c); i++ {
		from, to := c.edge(i)
		b = b.Union(geometry.Line{from, to}.Bounds())
	}
	if p.part == ofMiddle {
		return b.Widened(p.entry.Fence.Buffer())
	}
	return b
}

// pieces yields the pieces of a fence.
func pieces(e *index.Entry, yield func(piece)) {
	f := e.Fence
	cut := func(part, ring, edges int) {
		for from := 0; from < edges; from += pieceEdges {
			yield(piece{e, int32(part), int32(ring), int32(from)})
		}
	}
	for i, part := range f.Geometry {
		for k, r := range part {
			cut(i, k, len(r))
		}
	}
	kind := ofLine
	if len(f.Geometry) > 0 {
		kind = ofMiddle
	}
	for i, l := range f.Lines {
		cut(kind, i, len(l)-1)
	}
}

// tree is the Outline of all kinds but brute.
type tree struct {
	table *index.Table
	tree  *rtree.RTreeG[piece]
	grid  *grid
}

var _ Outline = (*tree)(nil)

func build(t *index.Table) *tree {
	x := &tree{table: t, tree: new(rtree.RTreeG[piece]), grid: newGrid(t)}
	for e := range t.All() {
		x.put(e)
	}
	return x
}

func (x *tree) put(e *index.Entry) {
	pieces(e, func(p piece) {
		b := p.box()
		x.tree.Insert([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, p)
	})
}

func (x *tree) take(e *index.Entry) {
	pieces(e, func(p piece) {
		b := p.box()
		x.tree.Delete([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, p)
	})
}

// follow returns the outline of the table now. It shares all that has not changed.
func (x *tree) follow(now *index.Table) *tree {
	var old, successors []*index.Entry
	for a, b := range x.table.Changes(now) {
		if a != nil {
			old = append(old, a)
		}
		if b != nil {
			successors = append(successors, b)
		}
	}
	if len(old)+len(successors) > now.Fences/2 {
		return build(now)
	}
	next := &tree{table: now, tree: x.tree.Copy(), grid: x.grid.follow(now, old, successors)}
	for _, e := range old {
		next.take(e)
	}
	for _, e := range successors {
		next.put(e)
	}
	return next
}
