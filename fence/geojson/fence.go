package geojson

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strconv"

	"paddock/fence/geometry"
)

// Fence is a named area or line. Once given to a Set it must not be changed any more.
type Fence struct {
	// Key is unique in its set: the Feature's id as text, else the value of the configured
	// id property, else its ordinal. One that repeats has a suffix: ~2, ~3 and so on.
	Key string
	// ID is the Feature's id as given, a JSON string or number; nil if it has none.
	ID json.RawMessage
	// Properties is a JSON object with its values as given, on one line; nil if null or
	// absent. Events and lines of answers hold it as it is, so it must have no line break.
	Properties json.RawMessage
	// Geometry has closed rings without their closing vertex.
	Geometry geometry.MultiPolygon
	// Lines are those of a fence that is only crossed: it has no Geometry, so it holds no point. If
	// the properties have a Buffer they are the middle of a corridor, whose Geometry is made of
	// them when the fence is read, or given to a Set.
	Lines geometry.MultiLine

	measured *measured // nil for a fence that is in no set
}

var (
	_ json.Marshaler   = Fence{}
	_ json.Unmarshaler = (*Fence)(nil)
)

// MarshalJSON writes a GeoJSON Feature with closed rings, id and properties as given. The
// geometry is a Polygon if the fence has one part, else a MultiPolygon. A line and a corridor are
// written as a LineString or a MultiLineString. The key is not written.
func (f Fence) MarshalJSON() ([]byte, error) { return f.AppendFeature(nil, f.ID), nil }

// UnmarshalJSON reads a GeoJSON Feature as ParseFeature does by default, and drops its findings.
func (f *Fence) UnmarshalJSON(data []byte) error {
	g, _, err := ParseFeature(bytes.Clone(data), ReadOptions{})
	if err == nil {
		*f = g
	}
	return err
}

// AppendFeature appends the fence as a GeoJSON Feature with the given id, a JSON value, or
// without an id if that is nil. Coordinates are written so that they read back equal.
func (f Fence) AppendFeature(dst []byte, id json.RawMessage) []byte {
	dst = append(dst, `{"type":"Feature",`...)
	if id != nil {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"properties":`...)
	if f.Properties == nil {
		dst = append(dst, "null"...)
	}
	dst = append(dst, f.Properties...)
	dst = append(dst, `,"geometry":`...)
	if len(f.Lines) > 0 {
		dst = appendLines(dst, f.Lines)
	} else {
		dst = appendArea(dst, f.Geometry)
	}
	return append(dst, '}')
}

func appendLines(dst []byte, ml geometry.MultiLine) []byte {
	if len(ml) == 1 {
		return append(appendLine(append(dst, `{"type":"LineString","coordinates":`...), ml[0]), '}')
	}
	dst = append(dst, `{"type":"MultiLineString","coordinates":[`...)
	for i, l := range ml {
		dst = appendLine(comma(dst, i), l)
	}
	return append(dst, "]}"...)
}

func appendLine(dst []byte, l geometry.Line) []byte {
	dst = append(dst, '[')
	for i, p := range l {
		dst = appendPoint(comma(dst, i), p)
	}
	return append(dst, ']')
}

func appendArea(dst []byte, mp geometry.MultiPolygon) []byte {
	switch len(mp) {
	case 0:
		return append(dst, "null"...)
	case 1:
		dst = append(dst, `{"type":"Polygon","coordinates":`...)
		dst = appendPart(dst, mp[0])
	default:
		dst = append(dst, `{"type":"MultiPolygon","coordinates":[`...)
		for i, part := range mp {
			dst = appendPart(comma(dst, i), part)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendPart(dst []byte, pg geometry.Polygon) []byte {
	dst = append(dst, '[')
	for i, r := range pg {
		dst = append(comma(dst, i), '[')
		for j, p := range r {
			dst = appendPoint(comma(dst, j), p)
		}
		if len(r) > 0 {
			dst = appendPoint(append(dst, ','), r[0])
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func appendPoint(dst []byte, p geometry.Point) []byte {
	dst = strconv.AppendFloat(append(dst, '['), p.Lon, 'g', -1, 64)
	dst = strconv.AppendFloat(append(dst, ','), p.Lat, 'g', -1, 64)
	return append(dst, ']')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

// Ref is the ordinal of a fence in its set, ascending in load order. It is stable for the
// life of the process: replacing a fence keeps it, and a deleted one's is never used again.
type Ref uint32

// WriteGeoJSON writes a FeatureCollection of the fences, ids as given, one Feature a line.
// ReadGeoJSON gives equal fences back. It passes on the errors of w.
func WriteGeoJSON(w io.Writer, fences iter.Seq[*Fence]) error {
	buf := []byte(`{"type":"FeatureCollection","features":[`)
	n := 0
	for f := range fences {
		buf = append(comma(buf, n), '\n')
		buf = f.AppendFeature(buf, f.ID)
		if _, err := w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
		n++
	}
	_, err := w.Write(append(buf, "\n]}\n"...))
	return err
}
