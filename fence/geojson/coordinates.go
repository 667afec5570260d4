package geojson

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"paddock/fence/geometry"
)

// ringDefect is a fault in the notation of a ring, such as a ring that is not closed.
type ringDefect struct {
	part, ring int
	code       Code
	reason     string
	at         *geometry.Point
}

// coordinateReader turns the coordinates of a Polygon or MultiPolygon into parts. It keeps
// the place that it is at, for messages.
type coordinateReader struct {
	cursor
	place   []int // indexes down to the value that is being read
	left    int   // vertices that may yet be read
	unwrap  bool  // longitudes up to 540 are taken
	scratch geometry.Ring
	defects []ringDefect
}

// shapeError is a refusal of coordinates.
type shapeError struct {
	code   Code
	reason string
	at     *geometry.Point
}

func (e *shapeError) Error() string { return e.reason }

func (r *coordinateReader) fail(format string, args ...any) error {
	return &shapeError{code: CodeInvalidGeometry, reason: r.path() + " " + fmt.Sprintf(format, args...)}
}

// path names the place as a program would: coordinates[0][1][2].
func (r *coordinateReader) path() string {
	var b strings.Builder
	b.WriteString("coordinates")
	for _, i := range r.place {
		fmt.Fprintf(&b, "[%d]", i)
	}
	return b.String()
}

// each reads an array: it calls read for each element, and keeps the place. want describes the
// array in the error for a value that is none.
func (r *coordinateReader) each(want string, read func() error) error {
	if r.kind() != '[' {
		return r.fail("is %s, not %s", shape(r.data[min(r.pos, len(r.data)):]), want)
	}
	r.pos++
	r.place = append(r.place, 0)
	last := len(r.place) - 1
	for ; r.more(); r.place[last]++ {
		if err := read(); err != nil {
			return err
		}
	}
	r.place = r.place[:last]
	return nil
}

func (r *coordinateReader) multiPolygon() (geometry.MultiPolygon, error) {
	var mp geometry.MultiPolygon
	err := r.each("an array of polygons", func() error {
		pg, err := r.polygon(r.place[0])
		mp = append(mp, pg)
		return err
	})
	return mp, err
}

func (r *coordinateReader) polygon(part int) (geometry.Polygon, error) {
	var pg geometry.Polygon
	err := r.each("an array of rings", func() error {
		ring, err := r.ring(part, r.place[len(r.place)-1])
		pg = append(pg, ring)
		return err
	})
	return pg, err
}

func (r *coordinateReader) multiLine() (geometry.MultiLine, error) {
	var ml geometry.MultiLine
	err := r.each("an array of lines", func() error {
		l, err := r.line()
		ml = append(ml, l)
		return err
	})
	return ml, err
}

func (r *coordinateReader) line() (geometry.Line, error) {
	err := r.positions()
	return slices.Clone(geometry.Line(r.scratch)), err
}

// positions reads an array of positions into scratch.
func (r *coordinateReader) positions() error {
	r.scratch = r.scratch[:0]
	return r.each("an array of positions", func() error {
		p, err := r.position()
		r.scratch = append(r.scratch, p)
		r.plain()
		return err
	})
}

// ring reads a ring and takes its closing vertex off.
func (r *coordinateReader) ring(part, index int) (geometry.Ring, error) {
	if err := r.positions(); err != nil {
		return nil, err
	}
	n := len(r.scratch)
	switch {
	case n > 1 && r.scratch[0] == r.scratch[n-1]:
		r.scratch = r.scratch[:n-1]
	case n > 2:
		at := r.scratch[n-1]
		r.defects = append(r.defects, ringDefect{
			part, index, CodeUnclosedRing, "the last position is not the first", &at,
		})
	}
	return slices.Clone(r.scratch), nil
}

// plain reads positions in the usual form, ,[lon,lat] without white space, after one that has been
// read. It stops before the first position in another form, or out of range: position reads that.
//
// hot: BenchmarkRead.
func (r *coordinateReader) plain() {
	at := &r.place[len(r.place)-1]
	for ; r.left > 0; r.left-- {
		text := r.data[r.pos:]
		if len(text) < 2 || text[0] != ',' || text[1] != '[' {
			return
		}
		lon, n := decimal(text[2:])
		i := 2 + n
		if n == 0 || i >= len(text) || text[i] != ',' {
			return
		}
		i++
		lat, n := decimal(text[i:])
		i += n
		if n == 0 || i >= len(text) || text[i] != ']' {
			return
		}
		if math.Abs(lon) > 180 || math.Abs(lat) > 90 {
			return
		}
		r.pos += i + 1
		r.scratch = append(r.scratch, geometry.Point{Lon: lon, Lat: lat})
		*at++
	}
}

// position reads longitude and latitude and ignores what follows them.
func (r *coordinateReader) position() (geometry.Point, error) {
	if r.left--; r.left < 0 {
		return geometry.Point{}, errVertices
	}
	var c [2]float64
	n := 0
	err := r.each("a position", func() error {
		if b := r.kind(); b != '-' && !isDigit(b) {
			return r.fail("is %s, not a number", shape(r.data[r.pos:]))
		}
		num := r.next()
		if n < len(c) {
			c[n] = number(num) // one too large becomes infinite, and is refused below
		}
		n++
		return nil
	})
	if err != nil {
		return geometry.Point{}, err
	}
	p := geometry.Point{Lon: c[0], Lat: c[1]}
	if n < 2 {
		return p, r.fail("has fewer than two numbers")
	}
	q := p
	if r.unwrap && math.Abs(q.Lon) <= 540 {
		q.Lon = geometry.WrapLon(q.Lon)
	}
	if reason := q.OutOfRange(); reason != "" {
		at := p // a copy, so that only the bad point goes to the heap
		return p, &shapeError{CodeOutOfRange, r.path() + " " + reason, &at}
	}
	return p, nil
}
