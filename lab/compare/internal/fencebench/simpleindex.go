package fencebench

import (
	"github.com/peterstace/simplefeatures/geom"
	"github.com/peterstace/simplefeatures/rtree"

	"paddock/fence"
	"paddock/fence/geometry"
)

// simpleIndex is simplefeatures without cgo: a bulk-loaded R-tree over geometries.
// Its prepared geometries are those of GEOS, which needs cgo.
type simpleIndex struct {
	boxes *rtree.RTree
	parts []geom.Geometry
	refs  []fence.Ref
}

func newSimpleIndex(fences []*fence.Fence) index {
	x := &simpleIndex{}
	var items []rtree.BulkItem
	for ref, f := range fences {
		for _, part := range f.Geometry {
			box := geometry.MultiPolygon{part}.Bounds()
			items = append(items, rtree.BulkItem{
				Box:      rtree.Box{MinX: box.MinLon, MinY: box.MinLat, MaxX: box.MaxLon, MaxY: box.MaxLat},
				RecordID: len(x.parts),
			})
			lines := make([]geom.LineString, len(part))
			for i, ring := range part {
				var flat []float64
				for _, p := range append(ring[:len(ring):len(ring)], ring[0]) {
					flat = append(flat, p.Lon, p.Lat)
				}
				lines[i] = geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
			}
			x.parts = append(x.parts, geom.NewPolygon(lines).AsGeometry())
			x.refs = append(x.refs, fence.Ref(ref))
		}
	}
	x.boxes = rtree.BulkLoad(items)
	return x
}

func (x *simpleIndex) find(dst []fence.Ref, lon, lat float64) []fence.Ref {
	point := geom.XY{X: lon, Y: lat}.AsPoint().AsGeometry()
	_ = x.boxes.RangeSearch(rtree.Box{MinX: lon, MinY: lat, MaxX: lon, MaxY: lat}, func(i int) error { // as the callback: never fails
		if geom.Intersects(point, x.parts[i]) {
			dst = append(dst, x.refs[i])
		}
		return nil
	})
	return dst
}
