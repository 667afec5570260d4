package outline

import (
	"math"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// brute asks every fence: the reference for tree.
type brute struct{ t *index.Table }

var _ Outline = brute{}

func (b brute) AppendAlong(dst []geojson.Ref, w geometry.Path) []geojson.Ref {
	for e := range b.t.All() {
		if crosses(e, &w) {
			dst = append(dst, e.Ref)
		}
	}
	return dst
}

func (b brute) AppendNear(dst []Near, p geometry.Point, metres float64, most int, _ []geojson.Ref) []Near {
	n := &nearest{from: p, metres: metres, most: most, seen: map[geojson.Ref]struct{}{}}
	for e := range b.t.All() {
		n.consider(e)
	}
	return n.appendTo(dst)
}

func (b brute) Clearance(p geometry.Point) float64 {
	least := float64(MostClearance)
	for e := range b.t.All() {
		least = min(least, 0.98*math.Abs(e.Fence.Distance(p)))
	}
	return clearance(least)
}
