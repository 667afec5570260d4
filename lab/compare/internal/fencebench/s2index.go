package fencebench

import (
	"github.com/golang/geo/s2"

	"paddock/fence"
)

// s2Index is golang/geo as its documentation advises: one ShapeIndex, and a
// ContainsPointQuery for the goroutine that asks. Its edges are great circles.
type s2Index struct{ query *s2.ContainsPointQuery }

// s2Part is a part of a fence as a shape that knows its fence.
type s2Part struct {
	*s2.Polygon
	ref fence.Ref
}

func newS2Index(fences []*fence.Fence) index {
	shapes := s2.NewShapeIndex()
	for ref, f := range fences {
		for _, part := range f.Geometry {
			loops := make([]*s2.Loop, len(part))
			for i, ring := range part {
				points := make([]s2.Point, len(ring))
				for j, p := range ring {
					points[j] = s2.PointFromLatLng(s2.LatLngFromDegrees(p.Lat, p.Lon))
				}
				loops[i] = s2.LoopFromPoints(points)
				loops[i].Normalize() // either direction is an area of less than half the globe
			}
			shapes.Add(s2Part{s2.PolygonFromLoops(loops), fence.Ref(ref)})
		}
	}
	shapes.Build()
	return s2Index{s2.NewContainsPointQuery(shapes, s2.VertexModelSemiOpen)}
}

func (x s2Index) find(dst []fence.Ref, lon, lat float64) []fence.Ref {
	for _, shape := range x.query.ContainingShapes(s2.PointFromLatLng(s2.LatLngFromDegrees(lat, lon))) {
		dst = append(dst, shape.(s2Part).ref)
	}
	return dst
}
