package outline

import (
	"cmp"
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

// nearest are the fences found so far, in their order.
type nearest struct {
	from   geometry.Point
	metres float64 // beyond which no fence is taken
	most   int
	found  []Near
	seen   map[geojson.Ref]struct{}
}

// limit is the distance beyond which nothing is of use.
func (n *nearest) limit() float64 {
	if len(n.found) < n.most || n.most == 0 {
		return n.metres
	}
	return min(n.metres, n.found[len(n.found)-1].away())
}

// consider takes in a fence if it is near enough.
func (n *nearest) consider(e *index.Entry) {
	if _, ok := n.seen[e.Ref]; ok || n.most == 0 {
		return
	}
	n.seen[e.Ref] = struct{}{}
	near := Near{e.Ref, e.Fence.Distance(n.from)}
	if !(near.away() <= n.limit()) || math.IsInf(near.Distance, 0) {
		return
	}
	at, _ := slices.BinarySearchFunc(n.found, near, compare)
	if len(n.found) == n.most {
		if at == n.most {
			return
		}
		n.found = n.found[:n.most-1]
	}
	n.found = slices.Insert(n.found, at, near)
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
		if bound > n.limit() || n.most == 0 {
			return false
		}
		n.consider(found.entry)
		return true
	})
	return append(dst, n.found...)
}
