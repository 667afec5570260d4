package tiles

import (
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// fanout is the number of children of a node of Boxes.
const fanout = 16

// Boxes indexes the fences of a snapshot by their boxes: an R-tree packed along a Hilbert curve,
// about 38 bytes a fence. It is immutable, and does not keep the snapshot alive.
type Boxes struct {
	refs   []fence.Ref
	levels [][]geometry.Box // levels[0][i] is the box of refs[i]; each box above contains fanout boxes below
}

// NewBoxes builds the tree, in about a microsecond a fence. It omits fences without a vertex.
func NewBoxes(s *fence.Snapshot) *Boxes {
	type place struct {
		order uint32
		ref   fence.Ref
		box   geometry.Box
	}
	places := make([]place, 0, s.Len())
	world := s.Bounds()
	for ref, f := range s.All() {
		if b := f.Bounds(); !b.Empty() {
			places = append(places, place{hilbert(world, b), ref, b})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return int(int64(a.order) - int64(b.order)) })
	t := &Boxes{refs: make([]fence.Ref, len(places))}
	leaves := make([]geometry.Box, len(places))
	for i, p := range places {
		t.refs[i], leaves[i] = p.ref, p.box
	}
	t.levels = [][]geometry.Box{leaves}
	for below := leaves; len(below) > 1; {
		above := make([]geometry.Box, 0, (len(below)+fanout-1)/fanout)
		for children := range slices.Chunk(below, fanout) {
			b := geometry.EmptyBox()
			for _, c := range children {
				b = b.Union(c)
			}
			above = append(above, b)
		}
		t.levels = append(t.levels, above)
		below = above
	}
	return t
}

// Walk calls each for the fences whose boxes meet q, in no particular order, until it returns
// false. Before that it calls group with a box around n fences, some of which may not meet q; if
// group returns true, Walk skips these fences.
func (t *Boxes) Walk(q geometry.Box, group func(b geometry.Box, n int) bool, each func(r fence.Ref, b geometry.Box) bool) {
	if len(t.refs) > 0 {
		t.walk(len(t.levels)-1, 0, q, group, each)
	}
}

func (t *Boxes) walk(level, i int, q geometry.Box, group func(geometry.Box, int) bool, each func(fence.Ref, geometry.Box) bool) bool {
	b := t.levels[level][i]
	if !b.Intersects(q) {
		return true
	}
	if level == 0 {
		return each(t.refs[i], b)
	}
	if group(b, t.leaves(level, i)) {
		return true
	}
	for c := i * fanout; c < min((i+1)*fanout, len(t.levels[level-1])); c++ {
		if !t.walk(level-1, c, q, group, each) {
			return false
		}
	}
	return true
}

// leaves returns the number of fences below a node.
func (t *Boxes) leaves(level, i int) int {
	n := 1
	for range level {
		n *= fanout
	}
	return min((i+1)*n, len(t.refs)) - i*n
}

// hilbert returns the position of a box's centre along a Hilbert curve of 2^16 steps a side through
// the world.
func hilbert(world, b geometry.Box) uint32 {
	const side = 1 << 16
	step := func(at, from, to float64) uint32 {
		if !(to > from) {
			return 0
		}
		return uint32(min(side-1, max(0, (at-from)/(to-from)*side)))
	}
	x := step((b.MinLon+b.MaxLon)/2, world.MinLon, world.MaxLon)
	y := step((b.MinLat+b.MaxLat)/2, world.MinLat, world.MaxLat)
	var d uint32
	for s := uint32(side / 2); s > 0; s /= 2 {
		var rx, ry uint32
		if x&s != 0 {
			rx = 1
		}
		if y&s != 0 {
			ry = 1
		}
		d += s * s * (3*rx ^ ry)
		if ry == 0 { // rotate the quadrant so that the curve continues
			if rx == 1 {
				x, y = side-1-x, side-1-y
			}
			x, y = y, x
		}
	}
	return d
}
