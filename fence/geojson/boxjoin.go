package geojson

import (
	"slices"

	"paddock/fence/geometry"
)

const (
	// leafEdges is how many edges that follow one another share a leaf of a boxJoin.
	leafEdges = 8
	// joinBudget bounds the boxes that are compared for each edge. Streets take about 10, a
	// fractal coast 20; a comb whose teeth all lie side by side would take one for each tooth.
	joinBudget = 64
)

// boxJoin shows of most rings that there is nothing to find in them: no two edges have a point
// in common but neighbours, which share a vertex. It joins a tree of boxes over the edges in
// the order of the rings with itself, and looks closer where two boxes of edges meet. That
// takes far less than the sweeper's sorted edges, and no more than joinBudget says.
//
// It may be used again; it keeps its memory.
type boxJoin struct {
	edges  []boxedEdge
	tree   []geometry.Box // a heap: the root is 1, the children of i are 2i and 2i+1, the leaves are the last half
	leaves int
	budget int
}

// boxedEdge is an edge of a ring with its box.
type boxedEdge struct {
	box  geometry.Box
	a, b geometry.Point
	// first is the index of the ring's first edge, last that of its last.
	first, last int32
}

// clear reports whether it is shown that the rings, which tidy has been over, neither meet
// themselves nor one another. False means that the sweeper has to look.
func (j *boxJoin) clear(rings []geometry.Ring) bool {
	j.load(rings)
	return j.within(1)
}

func (j *boxJoin) load(rings []geometry.Ring) {
	j.edges = j.edges[:0]
	for _, r := range rings {
		first := int32(len(j.edges))
		last := first + int32(len(r)) - 1
		a := r[len(r)-1]
		for _, b := range r {
			j.edges = append(j.edges, boxedEdge{boxOf(a, b), a, b, first, last})
			a = b
		}
	}
	j.budget = joinBudget * len(j.edges)
	j.leaves = max(1, (len(j.edges)+leafEdges-1)/leafEdges)
	j.tree = slices.Grow(j.tree[:0], 2*j.leaves)[:2*j.leaves]
	for i := range j.leaves {
		box := geometry.EmptyBox()
		for _, e := range j.leaf(j.leaves + i) {
			box = box.Union(e.box)
		}
		j.tree[j.leaves+i] = box
	}
	for i := j.leaves - 1; i > 0; i-- {
		j.tree[i] = j.tree[2*i].Union(j.tree[2*i+1])
	}
}

func boxOf(a, b geometry.Point) geometry.Box {
	return geometry.Box{MinLon: min(a.Lon, b.Lon), MinLat: min(a.Lat, b.Lat), MaxLon: max(a.Lon, b.Lon), MaxLat: max(a.Lat, b.Lat)}
}

// leaf gives the edges of a leaf.
func (j *boxJoin) leaf(node int) []boxedEdge {
	from := (node - j.leaves) * leafEdges
	return j.edges[from:min(from+leafEdges, len(j.edges))]
}

// within reports whether the edges below the node are clear of each other.
func (j *boxJoin) within(node int) bool {
	if node < j.leaves {
		return j.within(2*node) && j.within(2*node+1) && j.between(2*node, 2*node+1)
	}
	from := (node - j.leaves) * leafEdges
	edges := j.leaf(node)
	for i := range edges {
		if !j.apart(from+i, from+i+1, edges[i+1:]) {
			return false
		}
	}
	return true
}

// between reports whether the edges below one node are clear of those below another.
func (j *boxJoin) between(a, b int) bool {
	if j.budget--; j.budget < 0 {
		return false
	}
	if !j.tree[a].Intersects(j.tree[b]) {
		return true
	}
	if b < a {
		a, b = b, a // a is the higher one
	}
	if a < j.leaves {
		return j.between(2*a, b) && j.between(2*a+1, b)
	}
	for i, e := range j.leaf(a) {
		if e.box.Intersects(j.tree[b]) && !j.apart((a-j.leaves)*leafEdges+i, (b-j.leaves)*leafEdges, j.leaf(b)) {
			return false
		}
	}
	return true
}

// apart reports whether the edge i is clear of the others, the first of which is the edge from.
func (j *boxJoin) apart(i, from int, others []boxedEdge) bool {
	j.budget -= len(others)
	e := &j.edges[i]
	for k := range others {
		o := &others[k]
		if !e.box.Intersects(o.box) || e.neighbour(i, from+k) {
			continue
		}
		if !e.beside(o) && !o.beside(e) {
			return false
		}
	}
	return j.budget >= 0
}

// neighbour reports whether the edge i, which e is, shares a vertex with the edge k of its ring.
func (e *boxedEdge) neighbour(i, k int) bool {
	if int32(k) < e.first || int32(k) > e.last {
		return false
	}
	d := max(i, k) - min(i, k)
	return d == 1 || d == int(e.last-e.first)
}

// beside reports whether all of o is on one side of the line through e.
func (e *boxedEdge) beside(o *boxedEdge) bool {
	return geometry.Orient(e.a, e.b, o.a)*geometry.Orient(e.a, e.b, o.b) > 0
}
