// Package geometry has points, lines, rings and polygons in longitude and latitude, and the exact
// predicates that decide whether an area holds a point and where a path crosses a line. Edges are
// straight in degrees. Every decision is exact for the given float64 coordinates. Package fence
// explains which of two neighbours owns a point on their shared edge. Distances are in metres on
// WGS84: see Metric.
package geometry

import (
	"fmt"
	"math"
)

// Point is a position in degrees WGS84.
type Point struct{ Lon, Lat float64 }

// Ring is a closed chain of vertices without the repeated closing vertex: an edge joins the
// last vertex to the first. Its direction has no meaning.
type Ring []Point

// Polygon is one part of a fence: its rings in file order. The first is the shell by
// convention only; a point is in the polygon by the parity of all rings' edges.
type Polygon []Ring

// MultiPolygon is the area of a fence: the union of its parts.
type MultiPolygon []Polygon

// Contains reports whether a part holds p, by the rule of the package comment, exactly. It
// looks at every edge; use an index to ask many fences. Its cost is linear in the edges.
func (mp MultiPolygon) Contains(p Point) bool {
	p, ok := Normalize(p.Lon, p.Lat)
	return ok && mp.holds(p)
}

// holds is Contains for a normalized point.
func (mp MultiPolygon) holds(p Point) bool {
	for _, part := range mp {
		if part.holds(p) {
			return true
		}
	}
	return false
}

// holds reports whether an odd number of the part's edges count for p.
func (pg Polygon) holds(p Point) bool {
	odd := false
	for _, r := range pg {
		if r.Odd(p) {
			odd = !odd
		}
	}
	return odd
}

// Odd reports whether an odd number of the ring's edges count for p.
func (r Ring) Odd(p Point) bool {
	if len(r) == 0 {
		return false
	}
	odd := false
	a := r[len(r)-1]
	for _, b := range r {
		if spans(a, b, p.Lat) && eastward(a, b, p) {
			odd = !odd
		}
		a = b
	}
	return odd
}

// spans reports whether lo.Lat <= lat < hi.Lat, where lo is the end of the edge a-b with the
// lesser latitude: so if one end is at or below lat and the other is not.
func spans(a, b Point, lat float64) bool { return (a.Lat <= lat) != (b.Lat <= lat) }

// eastward reports whether an edge that spans the latitude of p has p strictly to its west.
// Ordering its ends first makes two neighbours that walk it in opposite directions evaluate
// the very same expression. An edge that spans anything is not level, so the order by
// longitude never decides.
func eastward(a, b, p Point) bool {
	if a.Lat > b.Lat {
		a, b = b, a
	}
	return Orient(a, b, p) > 0
}

// Normalize gives the point that a query at lon, lat asks for, and false if it is in no
// fence at all because it is not finite.
func Normalize(lon, lat float64) (Point, bool) {
	if lon == 180 {
		lon = -180
	}
	// x-x is NaN for an x that is not finite.
	return Point{lon, lat}, lon-lon == 0 && lat-lat == 0
}

// Vertices is the number of vertices of all rings, which is also the number of edges.
func (mp MultiPolygon) Vertices() int {
	n := 0
	for _, part := range mp {
		for _, r := range part {
			n += len(r)
		}
	}
	return n
}

// Bounds is the smallest box around all vertices; it is Empty if there are none.
func (mp MultiPolygon) Bounds() Box {
	b := EmptyBox()
	for _, part := range mp {
		b = b.Union(part.Bounds())
	}
	return b
}

// Bounds is the smallest box around all vertices; it is Empty if there are none.
func (pg Polygon) Bounds() Box {
	b := EmptyBox()
	for _, r := range pg {
		for _, p := range r {
			b = b.extend(p)
		}
	}
	return b
}

// Box is a closed rectangle in degrees. It never crosses the antimeridian.
type Box struct{ MinLon, MinLat, MaxLon, MaxLat float64 }

// EmptyBox is the box that holds nothing: the neutral element of Union.
func EmptyBox() Box {
	return Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
}

// Empty reports whether the box holds no point. An empty box has infinite members, which
// JSON cannot write.
func (b Box) Empty() bool { return !(b.MinLon <= b.MaxLon && b.MinLat <= b.MaxLat) }

// Contains reports whether p is in the box or on its border.
func (b Box) Contains(p Point) bool {
	return b.MinLon <= p.Lon && p.Lon <= b.MaxLon && b.MinLat <= p.Lat && p.Lat <= b.MaxLat
}

// Intersects reports whether the boxes have a point in common.
func (b Box) Intersects(o Box) bool {
	return b.MinLon <= o.MaxLon && o.MinLon <= b.MaxLon && b.MinLat <= o.MaxLat && o.MinLat <= b.MaxLat
}

// Union is the smallest box around both.
func (b Box) Union(o Box) Box {
	return Box{
		min(b.MinLon, o.MinLon), min(b.MinLat, o.MinLat),
		max(b.MaxLon, o.MaxLon), max(b.MaxLat, o.MaxLat),
	}
}

func (b Box) extend(p Point) Box {
	return Box{min(b.MinLon, p.Lon), min(b.MinLat, p.Lat), max(b.MaxLon, p.Lon), max(b.MaxLat, p.Lat)}
}

// OutOfRange says what is wrong with the coordinates, "" if nothing.
func (p Point) OutOfRange() string {
	switch {
	case math.Abs(p.Lon) <= 180 && math.Abs(p.Lat) <= 90:
		return ""
	case p.Lon-p.Lon != 0 || p.Lat-p.Lat != 0:
		return fmt.Sprintf("%v,%v is not finite", p.Lon, p.Lat)
	case math.Abs(p.Lon) <= 90 && math.Abs(p.Lat) <= 180:
		return fmt.Sprintf("%v,%v is out of range: longitude and latitude swapped?", p.Lon, p.Lat)
	case math.Abs(p.Lon) > 360 || math.Abs(p.Lat) > 360:
		return fmt.Sprintf("%v,%v is out of range: not degrees but feet or metres?", p.Lon, p.Lat)
	}
	return fmt.Sprintf("%v,%v is out of range", p.Lon, p.Lat)
}
