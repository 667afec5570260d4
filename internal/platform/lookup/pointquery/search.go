package pointquery

import "strconv"

// Search is a query about one point, with its options. Its slices are borrowed from the body.
type Search struct {
	Point
	Set         []byte // the member set; nil: none
	Properties  []byte // the member properties if it is a string; else nil
	Generation  uint64
	Generations bool // there is a member generation
}

// member is a member that a search may have.
type member uint8

const (
	lon member = iota
	lat
	typeName
	coordinates
	geometry
	set
	generation
	properties
	points // of several points, which Read does not accept
	others // unknown members
)

var memberNames = [others]string{"lon", "lat", "type", "coordinates", "geometry", "set", "generation", "properties", "points"}

// search is one pass over a body.
type search struct {
	pass
	Search
	seen    uint // a bit for each member
	top, in located
}

// located is the place in a GeoJSON object.
type located struct {
	isPoint, placed bool
	at              Point
}

// Read reads [lon, lat], {"lon","lat"}, a GeoJSON Point or a Feature with one. An object may also
// have set, generation and properties. The point need not be in range. Read returns false for an
// unknown form. It uses scratch for skipped values, so that most bodies allocate nothing.
//
// hot: BenchmarkOnePoint and TestOnePointDoesNotAllocate of internal/platform/lookup
func Read(body, scratch []byte) (Search, bool) {
	s := search{pass: pass{text: body, out: scratch[:0]}}
	ok := false
	switch s.peek() {
	case '[':
		s.Point, ok = s.position()
	case '{':
		ok = s.document()
	}
	return s.Search, ok && s.ended()
}

// document reads an object, and chooses its point as encoding/json would: lon and lat first, then
// the geometry, then the object itself.
func (s *search) document() bool {
	for more := s.open('{'); more; more = s.next('}') {
		key, ok := s.key()
		if !ok || !s.member(key) {
			return false
		}
	}
	const both = 1<<lon | 1<<lat
	switch {
	case s.broken:
		return false
	case s.seen&both == both:
		return true
	case s.seen&(1<<geometry) != 0:
		s.Point = s.in.at
		return s.in.isPoint && s.in.placed
	}
	s.Point = s.top.at
	return s.top.isPoint && s.top.placed
}

// known finds a member by its name. It fails for a repeated name, and for one in another case,
// which encoding/json would match.
func (s *search) known(key []byte) (m member, ok bool) {
	for ; m < others; m++ {
		if string(key) == memberNames[m] {
			ok = s.seen&(1<<m) == 0
			s.seen |= 1 << m
			return m, ok
		}
		if folds(key, memberNames[m]) {
			return m, false
		}
	}
	return others, true
}

func (s *search) member(key []byte) bool {
	m, ok := s.known(key)
	if !ok {
		return false
	}
	switch m {
	case lon:
		s.Lon, _, ok = s.float()
	case lat:
		s.Lat, _, ok = s.float()
	case typeName, coordinates:
		ok = s.locate(&s.top, m)
	case geometry:
		ok = s.geometry()
	case set:
		s.Set, ok = s.name()
		ok = ok && len(s.Set) > 0
	case generation:
		ok = s.generation()
	case properties:
		ok = s.properties()
	case points:
		ok = false
	case others:
		ok = s.skip(maxDepth)
	}
	return ok
}

// locate reads the type or the coordinates of a GeoJSON object.
func (s *search) locate(l *located, m member) (ok bool) {
	if m == coordinates {
		l.placed = true
		l.at, ok = s.position()
		return ok
	}
	text, ok := s.name()
	l.isPoint = string(text) == "Point"
	return ok
}

// geometry reads the object within a Feature.
func (s *search) geometry() bool {
	outside := s.seen
	s.seen &^= 1<<typeName | 1<<coordinates
	for more := s.open('{'); more; more = s.next('}') {
		key, ok := s.key()
		if !ok {
			return false
		}
		switch {
		case string(key) == "type" || string(key) == "coordinates":
			m, fresh := s.known(key)
			ok = fresh && s.locate(&s.in, m)
		default:
			ok = !folds(key, "type") && !folds(key, "coordinates") && s.skip(maxDepth)
		}
		if !ok {
			return false
		}
	}
	s.seen = outside
	return !s.broken
}

// position reads an array of two numbers or more.
func (s *search) position() (at Point, ok bool) {
	n := 0
	for more := s.open('['); more; more = s.next(']') {
		v, _, ok := s.float()
		if !ok {
			return at, false
		}
		switch n {
		case 0:
			at.Lon = v
		case 1:
			at.Lat = v
		}
		n++
	}
	return at, !s.broken && n >= 2
}

// name reads a string without escapes.
func (s *search) name() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	begin := s.at
	s.plain()
	text := s.text[begin:s.at]
	return text, s.take('"')
}

// generation reads a whole number.
func (s *search) generation() bool {
	s.peek()
	begin := s.at
	n := s.digits()
	v, err := strconv.ParseUint(string(s.text[begin:s.at]), 10, 64)
	s.Generation, s.Generations = v, true
	return err == nil && (n == 1 || s.text[begin] != '0')
}

// properties reads a choice, or skips the properties of a Feature.
func (s *search) properties() (ok bool) {
	if s.peek() != '"' {
		return s.skip(maxDepth)
	}
	s.Properties, ok = s.name()
	return ok
}
