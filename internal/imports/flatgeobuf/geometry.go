package flatgeobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// The fields of a geometry.
const (
	geometryEnds  = 0
	geometryXY    = 1
	geometryType  = 6
	geometryParts = 7
)

// The types of geometries.
const (
	typePoint           = 1
	typeLineString      = 2
	typePolygon         = 3
	typeMultiPoint      = 4
	typeMultiLineString = 5
	typeMultiPolygon    = 6
	typeCollection      = 7
)

// maxDepth bounds how deep collections may lie in one another.
const maxDepth = 16

// shape reads a geometry. A buffer may name one part many times, so what is read is bounded by the
// size of the buffer.
type shape struct {
	to     *feature.Geometry
	points int // that may yet be read
	parts  int
}

// feature reads a feature.
func (h *header) feature(text []byte, f *feature.Feature) error {
	t, err := rootOf(text)
	if err != nil {
		return err
	}
	columns, err := columnsOf(&t, featureColumns)
	if err != nil {
		return err
	}
	if columns == nil {
		columns = h.columns
	}
	values, err := t.vector(featureProperties, 1)
	if err != nil {
		return err
	}
	if err := properties(values, columns, &f.Properties); err != nil {
		return err
	}
	g, ok, err := t.table(featureGeometry)
	if !ok || err != nil {
		return err
	}
	s := shape{&f.Geometry, len(text) / 16, len(text) / 4}
	return s.read(&g, h.kind, 0)
}

// read reads a geometry of a type; 0 is the one that it names itself.
func (s *shape) read(g *table, kind byte, depth int) error {
	if s.parts--; s.parts < 0 || depth > maxDepth {
		return fmt.Errorf("parts lie more than %d deep in one another, or are more than the bytes can hold", maxDepth)
	}
	own, err := g.byte(geometryType)
	if err != nil {
		return err
	}
	if own != 0 {
		kind = own
	}
	switch kind {
	case typeMultiPolygon:
		return g.tables(geometryParts, func(in *table) error { return s.read(in, typePolygon, depth+1) })
	case typeCollection:
		return g.tables(geometryParts, func(in *table) error { return s.read(in, 0, depth+1) })
	}
	runs, err := s.runs(g)
	if err != nil {
		return err
	}
	switch kind {
	case typePoint, typeMultiPoint:
		for _, r := range runs {
			s.to.Points = append(s.to.Points, r...)
		}
	case typeLineString, typeMultiLineString:
		for _, r := range runs {
			s.to.Lines = append(s.to.Lines, r)
		}
	case typePolygon:
		var pg geometry.Polygon
		for _, r := range runs {
			pg = append(pg, feature.Ring(r))
		}
		s.to.Areas = append(s.to.Areas, pg)
	default:
		return fmt.Errorf("geometries of type %d, such as curves, are not read", kind)
	}
	return nil
}

// runs reads the points of a geometry, divided at its ends.
func (s *shape) runs(g *table) ([][]geometry.Point, error) {
	xy, err := g.vector(geometryXY, 8)
	if err != nil {
		return nil, err
	}
	ends, err := g.vector(geometryEnds, 4)
	if err != nil {
		return nil, err
	}
	if s.points -= len(xy) / 16; s.points < 0 {
		return nil, errors.New("more points than the bytes can hold")
	}
	points := make([]geometry.Point, len(xy)/16)
	for i := range points {
		points[i].Lon = math.Float64frombits(binary.LittleEndian.Uint64(xy[16*i:]))
		points[i].Lat = math.Float64frombits(binary.LittleEndian.Uint64(xy[16*i+8:]))
	}
	if len(ends) == 0 {
		if len(points) == 0 {
			return nil, nil
		}
		return [][]geometry.Point{points}, nil
	}
	if s.parts -= len(ends) / 4; s.parts < 0 {
		return nil, errors.New("more parts than the bytes can hold")
	}
	var runs [][]geometry.Point
	from := uint32(0)
	for ; len(ends) > 0; ends = ends[4:] {
		end := binary.LittleEndian.Uint32(ends)
		if end < from || uint64(end) > uint64(len(points)) {
			return nil, fmt.Errorf("a part of the points %d to %d of %d", from, end, len(points))
		}
		runs = append(runs, points[from:end:end])
		from = end
	}
	return runs, nil
}
