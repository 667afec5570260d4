package outline

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Near is a fence near a point.
type Near struct {
	Ref geojson.Ref
	// Distance to its boundary in metres: positive if the fence holds the point, negative if it
	// does not, or is a line.
	Distance float64
}

// away is the distance in metres to the fence itself.
func (n Near) away() float64 { return max(-n.Distance, 0) }

// compare orders by the distance to the fence, which is 0 for one that holds the point, then by
// ref.
func compare(a, b Near) int {
	return cmp.Or(cmp.Compare(a.away(), b.away()), cmp.Compare(a.Ref, b.Ref))
}

// nearest are the fences found so far: a heap, first the one that is furthest away.
type nearest struct {
	from   geometry.Point
	metres float64 // beyond which no fence is taken
	most   int     // at least 1
	found  []Near
	seen   map[geojson.Ref]struct{}
}

func (n *nearest) Len() int           { return len(n.found) }
func (n *nearest) Less(i, j int) bool { return compare(n.found[i], n.found[j]) > 0 }
func (n *nearest) Swap(i, j int)      { n.found[i], n.found[j] = n.found[j], n.found[i] }
func (n *nearest) Push(x any)         { n.found = append(n.found, x.(Near)) }
func (n *nearest) Pop() any {
	last := len(n.found) - 1
	x := n.found[last]
	n.found = n.found[:last]
	return x
}

// limit is the distance beyond which nothing is of use.
func (n *nearest) limit() float64 {
	if len(n.found) < n.most {
		return n.metres
	}
	return min(n.metres, n.found[0].away())
}

// consider takes in a fence if it is near enough.
func (n *nearest) consider(e *index.Entry) {
	if _, ok := n.seen[e.Ref]; ok {
		return
	}
	n.seen[e.Ref] = struct{}{}
	near := Near{e.Ref, e.Fence.Distance(n.from)}
	switch {
	case !(near.away() <= n.metres) || math.IsInf(near.Distance, 0):
	case len(n.found) < n.most:
		heap.Push(n, near)
	case compare(near, n.found[0]) < 0:
		n.found[0] = near
		heap.Fix(n, 0)
	}
}

// appendTo appends the fences in their order.
func (n *nearest) appendTo(dst []Near) []Near {
	slices.SortFunc(n.found, compare)
	return append(dst, n.found...)
}

// AppendNear implements Outline. The tree has boundaries, which may be far away where a fence holds
// the point.
func (x *tree) AppendNear(dst []Near, p geometry.Point, metres float64, most int, holders []geojson.Ref) []Near {
	n := &nearest{from: p, metres: metres, most: most, seen: map[geojson.Ref]struct{}{}}
	m := geometry.MetricAt(p)
	for _, r := range holders {
		n.consider(x.table.Get(r))
	}
	x.tree.Nearby(func(least, greatest [2]float64, _ piece, _ bool) float64 {
		return m.Box(geometry.Box{MinLon: least[0], MinLat: least[1], MaxLon: greatest[0], MaxLat: greatest[1]})
	}, func(_, _ [2]float64, found piece, bound float64) bool {
		if bound > n.limit() {
			return false
		}
		n.consider(found.entry)
		return true
	})
	return n.appendTo(dst)
}
