// Package wkt reads geometries in Well-Known Text (OGC 06-103r4), with the SRID of PostGIS's EWKT.
package wkt

import (
	"fmt"
	"strconv"
	"strings"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// maxDepth bounds how deep collections may lie in one another.
const maxDepth = 16

// Order is the order of the coordinates of a point.
type Order bool

// The orders. OGC's is longitude first; some programs write latitude first.
const (
	LonLat Order = false
	LatLon Order = true
)

// Parse reads a geometry: POINT, LINESTRING, POLYGON, the MULTI forms of them,
// GEOMETRYCOLLECTION, and CIRCLE (x y, radius in metres), which is not of the standard. Altitudes
// and measures are left out. A SRID other than 4326 is an error. Errors tell the byte.
func Parse(text string, order Order) (feature.Geometry, error) {
	p := &parser{text: text, order: order}
	g := feature.Geometry{}
	err := p.srid()
	if err == nil {
		err = p.geometry(&g, 0)
	}
	if err == nil && p.peek() != 0 {
		err = p.errorf("there is more behind the geometry")
	}
	return g, err
}

// Is reports whether a text begins as a geometry does: with a type and a parenthesis, or EMPTY. A
// type alone may be the first word of a name.
func Is(text string) bool {
	p := &parser{text: text}
	if p.srid() != nil || p.kind() == nil {
		return false
	}
	return p.peek() == '(' || p.empty() && p.peek() == 0
}

// shape reads what stands between the parentheses of a type.
type shape func(p *parser, g *feature.Geometry, depth int) error

var shapes map[string]shape

func init() {
	shapes = map[string]shape{
		"POINT": func(p *parser, g *feature.Geometry, _ int) error {
			points, err := p.points()
			if err == nil && len(points) != 1 {
				err = p.errorf("a POINT of %d points", len(points))
			}
			g.Points = append(g.Points, points...)
			return err
		},
		"LINESTRING": func(p *parser, g *feature.Geometry, _ int) error { return p.line(g) },
		"POLYGON":    func(p *parser, g *feature.Geometry, _ int) error { return p.polygon(g) },
		"MULTIPOINT": func(p *parser, g *feature.Geometry, _ int) error { return p.multiPoint(g) },
		"MULTILINESTRING": func(p *parser, g *feature.Geometry, _ int) error {
			return p.list(func() error { return p.line(g) })
		},
		"MULTIPOLYGON": func(p *parser, g *feature.Geometry, _ int) error {
			return p.list(func() error { return p.polygon(g) })
		},
		"GEOMETRYCOLLECTION": func(p *parser, g *feature.Geometry, depth int) error {
			return p.list(func() error { return p.geometry(g, depth+1) })
		},
		"CIRCLE": func(p *parser, g *feature.Geometry, _ int) error { return p.circle(g) },
	}
}

// parser is one read of a text.
type parser struct {
	text  string
	at    int
	order Order
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("WKT byte %d: %s", p.at, fmt.Sprintf(format, args...))
}

// peek returns the next byte that is no space; 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take goes past a byte.
func (p *parser) take(c byte) error {
	if p.peek() != c {
		return p.errorf("%q is expected, not %.20q", c, p.text[p.at:])
	}
	p.at++
	return nil
}

// word returns the letters that are next.
func (p *parser) word() string {
	p.peek()
	from := p.at
	for p.at < len(p.text) && (p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z') {
		p.at++
	}
	return p.text[from:p.at]
}

// srid reads the system of EWKT, if there is one.
func (p *parser) srid() error {
	p.peek()
	if len(p.text)-p.at < 5 || !strings.EqualFold(p.text[p.at:p.at+5], "SRID=") {
		return nil
	}
	number, _, ok := strings.Cut(p.text[p.at+5:], ";")
	if n, err := strconv.Atoi(strings.TrimSpace(number)); !ok || err != nil {
		return p.errorf("the SRID is %.20q", number)
	} else if n != 4326 {
		return feature.OtherCRS("EPSG:" + strconv.Itoa(n))
	}
	p.at += 5 + len(number) + 1
	return nil
}

// geometry reads a type and what it holds.
func (p *parser) geometry(g *feature.Geometry, depth int) error {
	if depth > maxDepth {
		return p.errorf("collections lie more than %d deep in one another", maxDepth)
	}
	from := p.at
	read := p.kind()
	if read == nil {
		p.at = from
		return p.errorf("%.20q is no type of geometry", p.text[from:])
	}
	if p.empty() {
		return nil
	}
	return read(p, g, depth)
}

// kind reads a type, with what it says of altitudes and measures; nil if there is none.
func (p *parser) kind() shape {
	name := strings.ToUpper(p.word())
	read := shapes[name]
	for _, flag := range []string{"ZM", "Z", "M"} { // POINTZ, as some write POINT Z
		if read == nil {
			read = shapes[strings.TrimSuffix(name, flag)]
		}
	}
	back := p.at
	switch strings.ToUpper(p.word()) {
	case "Z", "M", "ZM":
	default:
		p.at = back
	}
	return read
}

// empty goes past the word EMPTY, and reports whether it was there.
func (p *parser) empty() bool {
	back := p.at
	if strings.EqualFold(p.word(), "EMPTY") {
		return true
	}
	p.at = back
	return false
}

// list reads elements between parentheses.
func (p *parser) list(element func() error) error {
	if err := p.take('('); err != nil {
		return err
	}
	for {
		if !p.empty() {
			if err := element(); err != nil {
				return err
			}
		}
		if p.peek() != ',' {
			return p.take(')')
		}
		p.at++
	}
}

func (p *parser) line(g *feature.Geometry) error {
	points, err := p.points()
	g.Lines = append(g.Lines, points)
	return err
}

func (p *parser) polygon(g *feature.Geometry) error {
	var pg geometry.Polygon
	err := p.list(func() error {
		points, err := p.points()
		pg = append(pg, feature.Ring(points))
		return err
	})
	g.Areas = append(g.Areas, pg)
	return err
}

// multiPoint reads points, each of which may have parentheses of its own.
func (p *parser) multiPoint(g *feature.Geometry) error {
	return p.list(func() error {
		wrapped := p.peek() == '('
		if wrapped {
			p.at++
		}
		q, err := p.point()
		if err == nil && wrapped {
			err = p.take(')')
		}
		g.Points = append(g.Points, q)
		return err
	})
}

// circle reads a centre, a comma and a radius.
func (p *parser) circle(g *feature.Geometry) error {
	if err := p.take('('); err != nil {
		return err
	}
	q, err := p.point()
	if err == nil {
		err = p.take(',')
	}
	if err == nil {
		g.Radius, err = p.number()
	}
	if err != nil {
		return err
	}
	g.Points = append(g.Points, q)
	return p.take(')')
}

// points reads points between parentheses.
func (p *parser) points() (points []geometry.Point, err error) {
	err = p.list(func() error {
		q, err := p.point()
		if points = append(points, q); len(points) > feature.MaxVertices {
			return p.errorf("over %d points", feature.MaxVertices)
		}
		return err
	})
	return points, err
}

// point reads two coordinates, and goes past up to two further ones.
func (p *parser) point() (q geometry.Point, err error) {
	if q.Lon, err = p.number(); err != nil {
		return q, err
	}
	if q.Lat, err = p.number(); err != nil {
		return q, err
	}
	for range 2 {
		if c := p.peek(); c == ',' || c == ')' || c == 0 {
			break
		}
		if _, err = p.number(); err != nil {
			return q, err
		}
	}
	if p.order == LatLon {
		q.Lon, q.Lat = q.Lat, q.Lon
	}
	return q, nil
}

func (p *parser) number() (float64, error) {
	p.peek()
	from := p.at
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n,()", p.text[p.at]) < 0 {
		p.at++
	}
	f, err := feature.Number(p.text[from:p.at])
	if err != nil {
		p.at = from
		return 0, p.errorf("%v", err)
	}
	return f, nil
}
