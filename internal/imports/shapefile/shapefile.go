// Package shapefile reads ESRI shapefiles: the shapes of a .shp file (ESRI Shapefile Technical
// Description, July 1998), the attributes of the .dbf file beside it, and the coordinate reference
// system of the .prj file.
package shapefile

import (
	"encoding/binary"
	"fmt"
	"math"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// The types of shapes. Those with altitudes have 10 more, those with measures 20 more.
const (
	shapeNull       = 0
	shapePoint      = 1
	shapeLine       = 3
	shapePolygon    = 5
	shapeMultiPoint = 8
	shapeMultiPatch = 31
)

// headerBytes is the size of the header of .shp and .shx files.
const headerBytes = 100

// Read reads a .shp file. Altitudes and measures are left out. The rings of a polygon are shells
// and holes by their direction and by which of them lie in which: see areas. Records are found by
// the .shx file if there is one. Texts are in the encoding of the .cpg file; without one in UTF-8,
// or else ISO 8859-1. Without a .prj file the coordinates are taken as they are, which a finding
// says.
func Read(in *feature.Input, out feature.Sink) error {
	if err := checkHeader(in.Data); err != nil {
		return in.Errorf("%w", err)
	}
	if err := projection(in, out); err != nil {
		return in.Errorf("%w", err)
	}
	index, err := in.Companion(".shx")
	if err != nil {
		return err
	}
	attributes, err := openTable(in, out)
	if err != nil {
		return in.Errorf("%w", err)
	}
	r := &reader{in: in, out: out, attributes: attributes, budget: pairBudget}
	if len(index) > headerBytes && checkHeader(index) == nil {
		err = r.indexed(index[headerBytes:])
	} else {
		err = r.sequential()
	}
	if err == nil && attributes != nil && attributes.records != r.record {
		out.Note(feature.Noted(feature.Place{}, feature.CodeNotCarried, "the .dbf file has %d records, the .shp file %d", attributes.records, r.record))
	}
	return err
}

// checkHeader checks the header that .shp and .shx files have.
func checkHeader(data []byte) error {
	switch {
	case len(data) < headerBytes || binary.BigEndian.Uint32(data) != 9994:
		return fmt.Errorf("it is no shapefile: it does not begin with the code 9994")
	case binary.LittleEndian.Uint32(data[28:]) != 1000:
		return fmt.Errorf("version %d of shapefiles is not read, only 1000", binary.LittleEndian.Uint32(data[28:]))
	}
	return nil
}

// projection refuses other coordinate reference systems than WGS 84.
func projection(in *feature.Input, out feature.Sink) error {
	text, err := in.Companion(".prj")
	if err != nil {
		return err
	}
	if text == nil {
		out.Note(feature.Noted(feature.Place{}, geojson.CodeCRS, "there is no .prj file: the coordinates are taken as longitude and latitude in WGS 84"))
		return nil
	}
	return feature.CheckCRS(string(text))
}

// reader is one read of a file.
type reader struct {
	in         *feature.Input
	out        feature.Sink
	attributes *table // nil if there are none
	record     int    // records read
	budget     int    // of tests of rings against rings
}

// indexed reads the records that the entries of an index name.
func (r *reader) indexed(entries []byte) error {
	for ; len(entries) >= 8; entries = entries[8:] {
		at := 2 * uint64(binary.BigEndian.Uint32(entries))
		size := 2 * uint64(binary.BigEndian.Uint32(entries[4:]))
		r.record++
		if at < headerBytes || at+8+size > uint64(len(r.in.Data)) {
			r.out.Note(feature.Refused(r.place(), geojson.CodeInvalidGeometry, "it is not within the .shp file"))
			continue
		}
		if err := r.take(r.in.Data[at+8 : at+8+size]); err != nil {
			return err
		}
	}
	return nil
}

// sequential reads one record behind the other.
func (r *reader) sequential() error {
	for rest := r.in.Data[headerBytes:]; len(rest) > 0; {
		r.record++
		if len(rest) < 8 {
			return r.in.Errorf("record %d: the file ends within it", r.record)
		}
		size := 2 * uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) {
			return r.in.Errorf("record %d: the file ends within it", r.record)
		}
		if err := r.take(rest[8 : 8+size]); err != nil {
			return err
		}
		rest = rest[8+size:]
	}
	return nil
}

func (r *reader) place() feature.Place { return feature.Place{Unit: "record", Number: r.record} }

// take gives the feature of a record to the sink.
func (r *reader) take(shape []byte) error {
	f := &feature.Feature{Place: r.place()}
	if !r.attributes.read(r.record-1, &f.Properties) {
		r.out.Note(feature.Noted(f.Place, feature.CodeNotCarried, "it is marked as deleted"))
		return nil
	}
	if err := r.shape(shape, f); err != nil {
		r.out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", err))
		return nil
	}
	return r.out.Take(f)
}

// shape reads the shape of a record into a feature.
func (r *reader) shape(b []byte, f *feature.Feature) error {
	if len(b) < 4 {
		return fmt.Errorf("the record has %d bytes", len(b))
	}
	kind, b := binary.LittleEndian.Uint32(b), b[4:]
	if kind == shapeMultiPatch {
		return fmt.Errorf("a MultiPatch, a surface in space, is no fence")
	}
	if kind > shapeMultiPoint+20 {
		return fmt.Errorf("%d is no type of shapes", kind)
	}
	g := &f.Geometry
	switch kind % 10 {
	case shapeNull:
		return nil
	case shapePoint:
		if len(b) < 16 {
			return fmt.Errorf("a point of %d bytes", len(b))
		}
		g.Points = []geometry.Point{point(b)}
		return nil
	case shapeMultiPoint:
		if len(b) < 36 || uint64(binary.LittleEndian.Uint32(b[32:]))*16 > uint64(len(b)-36) {
			return fmt.Errorf("the points are longer than the record")
		}
		g.Points = points(b[36:], int(binary.LittleEndian.Uint32(b[32:])))
		return nil
	case shapeLine, shapePolygon:
	default:
		return fmt.Errorf("%d is no type of shapes", kind)
	}
	parts, err := partsOf(b)
	if err != nil {
		return err
	}
	if kind%10 == shapeLine {
		for _, p := range parts {
			g.Lines = append(g.Lines, p)
		}
		return nil
	}
	rings := make([]geometry.Ring, len(parts))
	for i, p := range parts {
		rings[i] = feature.Ring(p)
	}
	g.Areas, err = r.areas(f, rings)
	return err
}

// partsOf reads the parts of a line or a polygon.
func partsOf(b []byte) ([][]geometry.Point, error) {
	if len(b) < 40 {
		return nil, fmt.Errorf("a shape of %d bytes", len(b))
	}
	parts, count := uint64(binary.LittleEndian.Uint32(b[32:])), uint64(binary.LittleEndian.Uint32(b[36:]))
	if 40+4*parts+16*count > uint64(len(b)) {
		return nil, fmt.Errorf("%d parts of %d points are longer than the record", parts, count)
	}
	all := points(b[40+4*parts:], int(count))
	out := make([][]geometry.Point, parts)
	for i := range out {
		from, to := uint64(binary.LittleEndian.Uint32(b[40+4*i:])), count
		if i+1 < len(out) {
			to = uint64(binary.LittleEndian.Uint32(b[44+4*i:]))
		}
		if from > to || to > count {
			return nil, fmt.Errorf("part %d has the points %d to %d of %d", i, from, to, count)
		}
		out[i] = all[from:to:to]
	}
	return out, nil
}

func points(b []byte, n int) []geometry.Point {
	out := make([]geometry.Point, n)
	for i := range out {
		out[i] = point(b[16*i:])
	}
	return out
}

func point(b []byte) geometry.Point {
	return geometry.Point{
		Lon: math.Float64frombits(binary.LittleEndian.Uint64(b)),
		Lat: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
	}
}
