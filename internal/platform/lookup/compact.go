package lookup

import (
	"encoding/binary"

	"paddock/fence/geometry"
)

// The compact form of a request, which doors without HTTP accept beside JSON, is described in
// docs/reference/wire-kinds.md.
const (
	CompactVersion = 1 // its first byte

	CompactSet        = 1 // flag: a set is named
	CompactMany       = 2 // flag: many points
	CompactColumns    = 4 // flag: the answer is in columns
	CompactGeneration = 8 // flag: the set must be at this generation
	compactFlags      = CompactSet | CompactMany | CompactColumns | CompactGeneration
)

// compact is a request in the compact form. Its slices are borrowed from the body.
type compact struct {
	flags      byte
	set        []byte
	generation uint64
	points     []byte
}

// parseCompact parses a body whose first byte is CompactVersion.
func parseCompact(body []byte) (q compact, err error) {
	if len(body) < 2 {
		return q, fail(Invalid, "body: cut off")
	}
	rest := body[2:]
	if q.flags = body[1]; q.flags&^compactFlags != 0 {
		return q, fail(Invalid, "flags: reserved bits %#02x", q.flags&^compactFlags)
	}
	if q.flags&CompactSet != 0 {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return q, fail(Invalid, "set: cut off")
		}
		n := int(rest[0])
		if n == 0 {
			return q, fail(Invalid, "set: empty")
		}
		q.set, rest = rest[1:1+n], rest[1+n:]
	}
	if q.flags&CompactGeneration != 0 {
		if len(rest) < 8 {
			return q, fail(Invalid, "generation: cut off")
		}
		q.generation, rest = binary.LittleEndian.Uint64(rest), rest[8:]
	}
	q.points = rest
	return q, q.check()
}

func (q *compact) check() error {
	switch n := len(q.points) / PointBytes; {
	case len(q.points)%PointBytes != 0:
		return fail(Invalid, "points: cut off")
	case q.flags&CompactMany == 0 && n != 1:
		return fail(Invalid, "points: %d without the flag for many", n)
	}
	return nil
}

func (q *compact) terms() Terms {
	t := Terms{Set: string(q.set)}
	if q.flags&CompactGeneration != 0 {
		t.Generation = &q.generation
	}
	return t
}

// compact answers a request in the compact form.
func (l *Lookup) compact(q *compact) error {
	switch {
	case q.flags&CompactColumns != 0:
		return l.Columns(q.points)
	case q.flags&CompactMany != 0:
		return l.manyPoints(q.points)
	}
	lon, lat := pointAt(q.points)
	return l.line(geometry.Point{Lon: lon, Lat: lat})
}

// manyPoints answers binary points in the form of Document.
func (l *Lookup) manyPoints(points []byte) error {
	n, size := len(points)/PointBytes, l.chunkSize()
	if n > MaxPoints {
		return tooManyPoints()
	}
	l.beginResults()
	for at := 0; at < n; at += size {
		if err := l.pending.read(points[PointBytes*at:PointBytes*min(at+size, n)], at); err != nil {
			return err
		}
		if err := l.settle(","); err != nil {
			return err
		}
	}
	return l.endResults()
}
