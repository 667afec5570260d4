// Package pointquery reads queries about one point in one pass.
//
// Append reads a GeoJSON Feature with a Point, and writes it as encoding/json would after decoding
// it into a map of properties and a slice of coordinates: keys are sorted, numbers pass through
// float64, '<', '>' and '&' are escaped, and other members are dropped. Read reads a point in any
// of the forms of /v1/search, and writes nothing.
//
// Both accept the queries that programs send: members in any order, unknown members, properties of
// any shape. They return false for rare queries, such as those with escapes, repeated or unusually
// spelled names, and errors. The caller then uses encoding/json, which defines the error texts and
// the special cases. Accepted queries have the same result both ways; FuzzPointQuery checks that,
// and FuzzOnePoint of internal/platform/lookup.
package pointquery

import (
	"bytes"
	"math"
	"strconv"
)

const (
	maxKeys  = 16 // of one object within the properties
	maxDepth = 8  // nested objects and arrays in one member
)

// Point is the point of a query, in degrees.
type Point struct{ Lon, Lat float64 }

// Append appends the query in body to dst:
//
//	{"type":"Feature","properties":P,"geometry":{"type":"Point","coordinates":[...]}}
//
// It returns false for an unknown form; the bytes behind dst are undefined then. It keeps nothing
// of body.
//
// hot: BenchmarkAppend, TestAppendAllocatesNothing
func Append(dst, body []byte) ([]byte, Point, bool) {
	f := feature{pass: pass{text: body, out: append(dst, `{"type":"Feature","properties":`...)}}
	if !f.read() {
		return dst, Point{}, false
	}
	return append(f.out, "}}"...), f.point, true
}

// feature is one pass over a query.
type feature struct {
	pass
	point Point

	typed, located  bool // members read so far
	hasProperties   bool
	coordinatesAt   int  // their offset in the text; 0: not seen
	coordinatesDone bool // they were written
}

// read reads the whole text. Members are written in a fixed order: coordinates that precede the
// properties are read after them.
func (f *feature) read() bool {
	for more := f.open('{'); more; more = f.next('}') {
		key, ok := f.key()
		if !ok || !f.member(key) {
			return false
		}
	}
	end := f.at
	if f.broken || !f.typed || !f.located {
		return false
	}
	if !f.hasProperties {
		f.out = append(f.out, "null"...)
	}
	if !f.coordinatesDone {
		f.at = f.coordinatesAt
		if !f.coordinates() {
			return false
		}
	}
	f.at = end
	return f.ended()
}

func (f *feature) member(key []byte) bool {
	switch string(key) {
	case "type":
		fresh := !f.typed
		f.typed = true
		return fresh && f.literal(`"Feature"`)
	case "properties":
		fresh := !f.hasProperties
		f.hasProperties = true
		c := f.peek()
		return fresh && (c == '{' || c == 'n') && f.value(maxDepth)
	case "geometry":
		fresh := !f.located
		f.located = true
		return fresh && f.geometry()
	}
	return !folds(key, "type") && !folds(key, "properties") && !folds(key, "geometry") && f.skip(maxDepth)
}

// geometry reads a Point.
func (f *feature) geometry() bool {
	typed := false
	for more := f.open('{'); more; more = f.next('}') {
		key, ok := f.key()
		if !ok {
			return false
		}
		switch string(key) {
		case "type":
			ok = !typed && f.literal(`"Point"`)
			typed = true
		case "coordinates":
			ok = f.coordinatesAt == 0 && f.peek() == '['
			f.coordinatesAt = f.at
			if ok && f.hasProperties {
				ok = f.coordinates()
			} else if ok {
				ok = f.skip(1)
			}
		default:
			ok = !folds(key, "type") && !folds(key, "coordinates") && f.skip(maxDepth)
		}
		if !ok {
			return false
		}
	}
	return !f.broken && typed && f.coordinatesAt != 0
}

// coordinates writes the geometry, with two numbers or more.
func (f *feature) coordinates() bool {
	f.coordinatesDone = true
	f.out = append(f.out, `,"geometry":{"type":"Point","coordinates":[`...)
	n := 0
	for more := f.open('['); more; more = f.next(']') {
		if n > 0 {
			f.out = append(f.out, ',')
		}
		v, ok := f.number()
		if !ok {
			return false
		}
		switch n {
		case 0:
			f.point.Lon = v
		case 1:
			f.point.Lat = v
		}
		n++
	}
	f.out = append(f.out, ']')
	return !f.broken && n >= 2
}

// folds reports whether encoding/json would match key, which is ASCII, with name.
func folds(key []byte, name string) bool {
	return len(key) == len(name) && bytes.EqualFold(key, []byte(name))
}

// AppendParameters appends the query in the parameters of a GET, as encoding/json writes it: a
// Feature without properties. It accepts only lat and lon, in either order and unescaped. It
// returns false for other parameters, and for values that are not finite numbers.
//
// hot: BenchmarkAppendParameters, TestAppendParametersAllocatesNothing
func AppendParameters(dst, query []byte) ([]byte, Point, bool) {
	first, second, _ := bytes.Cut(query, []byte("&"))
	if bytes.HasPrefix(first, []byte("lon=")) {
		first, second = second, first
	}
	lat, ok := coordinate(first, "lat=")
	lon, also := coordinate(second, "lon=")
	if !ok || !also {
		return dst, Point{}, false
	}
	dst = append(dst, `{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[`...)
	dst = append(appendFloat(dst, lon), ',')
	dst = append(appendFloat(dst, lat), "]}}"...)
	return dst, Point{Lon: lon, Lat: lat}, true
}

// coordinate parses the value of a parameter. A number without a plus sign contains no escapes.
func coordinate(parameter []byte, name string) (float64, bool) {
	value, ok := bytes.CutPrefix(parameter, []byte(name))
	if !ok || bytes.IndexByte(value, '+') >= 0 { // a plus sign stands for a space
		return 0, false
	}
	v, err := strconv.ParseFloat(string(value), 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}
