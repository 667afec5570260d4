// Package pointquery reads queries about one point in one pass.
//
// Append reads a GeoJSON Feature with a Point, and gives it back as encoding/json
// would: decoded into a map of properties and a slice of coordinates, and marshalled
// again. Keys are sorted, numbers pass through float64, '<', '>' and '&' are escaped,
// other members are gone. Read takes a point in any of the forms that /v1/search
// knows, and gives nothing back.
//
// It takes what programs send: members in any order, members of no interest,
// properties of any shape. What it does not take is not wrong, only rare, such as
// escapes, names that are repeated or oddly written, and errors: then the caller
// asks encoding/json, and the texts and oddities of that need no second home.
// What it takes has the same outcome both ways; FuzzPointQuery holds it to that, and
// FuzzOnePoint of internal/platform/lookup.
package pointquery

import "bytes"

const (
	maxKeys  = 16 // of one object within the properties
	maxDepth = 8  // of objects and arrays within each other, in one member
)

// Point is where a query asks, in degrees.
type Point struct{ Lon, Lat float64 }

// Append appends the query that body holds to dst:
//
//	{"type":"Feature","properties":P,"geometry":{"type":"Point","coordinates":[...]}}
//
// It returns false if the body is none that it knows; what it has appended until
// then is of no use. It keeps nothing of body.
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

	typed, located  bool // the members that have been read
	hasProperties   bool
	coordinatesAt   int  // where they begin in the text; 0: not seen
	coordinatesDone bool // and they have been written
}

// read reads the whole text. Members are written in their fixed order: what comes
// too early, coordinates before properties, is read when its turn has come.
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

// folds reports whether encoding/json would take key, which is ASCII, for name.
func folds(key []byte, name string) bool {
	return len(key) == len(name) && bytes.EqualFold(key, []byte(name))
}
