package fencebench

import (
	"github.com/tidwall/geojson/geometry"
	"github.com/tidwall/rtree"

	"paddock/fence"
)

// tidwallIndex is an R-tree of boxes over polygons with an index of their own: how
// Tile38 finds the fences of a point.
type tidwallIndex struct{ boxes *rtree.RTreeG[*tidwallPart] }

type tidwallPart struct {
	polygon *geometry.Poly
	ref     fence.Ref
}

func newTidwallIndex(fences []*fence.Fence) index {
	x := tidwallIndex{new(rtree.RTreeG[*tidwallPart])}
	for ref, f := range fences {
		for _, part := range f.Geometry {
			loops := make([][]geometry.Point, len(part))
			for i, ring := range part {
				for _, p := range ring {
					loops[i] = append(loops[i], geometry.Point{X: p.Lon, Y: p.Lat})
				}
				loops[i] = append(loops[i], loops[i][0])
			}
			p := &tidwallPart{geometry.NewPoly(loops[0], loops[1:], geometry.DefaultIndexOptions), fence.Ref(ref)}
			box := p.polygon.Rect()
			x.boxes.Insert([2]float64{box.Min.X, box.Min.Y}, [2]float64{box.Max.X, box.Max.Y}, p)
		}
	}
	return x
}

func (x tidwallIndex) find(dst []fence.Ref, lon, lat float64) []fence.Ref {
	at := [2]float64{lon, lat}
	x.boxes.Search(at, at, func(_, _ [2]float64, p *tidwallPart) bool {
		if p.polygon.ContainsPoint(geometry.Point{X: lon, Y: lat}) {
			dst = append(dst, p.ref)
		}
		return true
	})
	return dst
}
