package geometry

import (
	"errors"
	"fmt"
)

// Boundary says which points that are exactly on an edge or a vertex of one of its parts a
// fence holds. All other points are the same to every Boundary.
type Boundary string

const (
	// BoundaryHalfOpen is the rule of the package comment: of two neighbours, one.
	BoundaryHalfOpen Boundary = "half-open"
	// BoundaryClosed is every one: of two neighbours, both. A point at longitude 180 is the
	// same place as one at -180, and on the edges at both. Latitude 90 is as others.
	BoundaryClosed Boundary = "closed"
	// BoundaryOpen is none. A point on an edge of one part may still be within another.
	BoundaryOpen Boundary = "open"
)

// ErrBoundary is wrapped by the error for a boundary rule that does not exist.
var ErrBoundary = errors.New("unknown boundary rule")

// ParseBoundary gives the rule named s, BoundaryHalfOpen if s is empty. For an unknown name
// the error wraps ErrBoundary and lists the rules.
func ParseBoundary(s string) (Boundary, error) {
	switch b := Boundary(s); b {
	case "":
		return BoundaryHalfOpen, nil
	case BoundaryHalfOpen, BoundaryClosed, BoundaryOpen:
		return b, nil
	}
	return "", fmt.Errorf("%w %q: it must be one of %s, %s, %s", ErrBoundary, s, BoundaryHalfOpen, BoundaryClosed, BoundaryOpen)
}

// Rule is a Boundary for hot functions.
type Rule uint8

const (
	HalfOpen Rule = iota
	Closed
	Open
)

func (b Boundary) Rule() Rule {
	switch b {
	case BoundaryClosed:
		return Closed
	case BoundaryOpen:
		return Open
	}
	return HalfOpen
}

// Decide reports whether the part holds p under the rule, for a normalized p.
func (part PreparedPart) Decide(r Rule, p Point) bool {
	in := part.holds(p)
	if r == HalfOpen || in == (r == Closed) {
		return in
	}
	return part.touches(p) == (r == Closed)
}

// Decide is preparedPart.decide in a plain loop over the edges: the reference for it.
func (pg Polygon) Decide(r Rule, p Point) bool {
	switch r {
	case Closed:
		return pg.holds(p) || pg.Touches(p)
	case Open:
		return pg.holds(p) && !pg.Touches(p)
	}
	return pg.holds(p)
}

func (mp MultiPolygon) Decide(r Rule, p Point) bool {
	for _, part := range mp {
		if part.Decide(r, p) {
			return true
		}
	}
	return false
}

// Touches reports whether p is exactly on an edge or a vertex.
func (pg Polygon) Touches(p Point) bool {
	for _, r := range pg {
		for i, b := range r {
			if OnEdge(r[(i+len(r)-1)%len(r)], b, p) {
				return true
			}
		}
	}
	return false
}

// touches is Polygon.touches. An edge is in the closed box of its chain, and so is what is on it.
func (part PreparedPart) touches(p Point) bool {
	for i := range part {
		c := &part[i]
		if !c.box.Contains(p) {
			continue
		}
		a := c.vertices[0]
		if len(c.vertices) == 1 && a == p {
			return true
		}
		for _, b := range c.vertices[1:] {
			if OnEdge(a, b, p) {
				return true
			}
			a = b
		}
	}
	return false
}

// OnEdge reports whether p is exactly on the closed edge a-b.
func OnEdge(a, b, p Point) bool {
	return min(a.Lon, b.Lon) <= p.Lon && p.Lon <= max(a.Lon, b.Lon) &&
		min(a.Lat, b.Lat) <= p.Lat && p.Lat <= max(a.Lat, b.Lat) && Orient(a, b, p) == 0
}
