package geometry

import (
	"errors"
	"fmt"
	"math"
)

const (
	// earthRadius in metres: the mean radius of WGS84.
	earthRadius = 6_371_008.8

	// MaxRadiusMeters is the largest radius of a circle. It is below a quarter of the way round
	// the earth, so that no circle has both poles in it.
	MaxRadiusMeters = 10_000_000

	// MinRadiusMeters is the smallest radius of a circle. A thousandth of it, the error allowed,
	// is a thousand times what float64 can tell apart at longitude 180.
	MinRadiusMeters = 0.01

	// A circle's ring begins with circleArcs edges. Each is halved until it is near enough to
	// the circle, circleDepth times at most: only edges that pass a pole within millimetres
	// get that far.
	circleArcs  = 32
	circleDepth = 30
)

// ErrShape is wrapped by the errors of Circle and Rectangle.
var ErrShape = errors.New("no such shape")

// Circle is the area within a distance of a point, on a sphere of the earth's mean radius, as
// a polygon: the edges, straight in longitude and latitude, are nowhere further from the true
// circle than the lesser of 0.25 m and a thousandth of the radius. It is split at the
// antimeridian, and closed by a pole if that is within. The vertices come from trigonometry
// and may differ in the last bit between processors: store them, not the radius.
func Circle(center Point, radiusMeters float64) (MultiPolygon, error) {
	if reason := center.OutOfRange(); reason != "" {
		return nil, fmt.Errorf("%w: the center %s", ErrShape, reason)
	}
	if !(radiusMeters >= MinRadiusMeters && radiusMeters <= MaxRadiusMeters) {
		return nil, fmt.Errorf("%w: a radius of %v m is not within %v and %d", ErrShape, radiusMeters, MinRadiusMeters, MaxRadiusMeters)
	}
	c := newCircle(center, radiusMeters)
	for i := range circleArcs {
		from, to := 2*math.Pi*float64(i)/circleArcs, 2*math.Pi*float64(i+1)/circleArcs
		a := c.at(from)
		c.ring = append(c.ring, a)
		c.arc(from, a, to, c.at(to), circleDepth)
	}
	return unwrap(MultiPolygon{{c.ring}}, math.Copysign(90, center.Lat)), nil
}

// circle makes the ring of one.
type circle struct {
	center, north, east vector
	angle               float64 // radius in radians
	tolerance           float64 // in radians
	ring                Ring
}

func newCircle(center Point, radius float64) *circle {
	sinLat, cosLat := math.Sincos(center.Lat * math.Pi / 180)
	sinLon, cosLon := math.Sincos(center.Lon * math.Pi / 180)
	return &circle{
		center: vector{cosLat * cosLon, cosLat * sinLon, sinLat},
		north:  vector{-sinLat * cosLon, -sinLat * sinLon, cosLat},
		east:   vector{-sinLon, cosLon, 0},
		angle:  radius / earthRadius,
		// A part is kept back for what lies between the places that are looked at.
		tolerance: 0.9 * min(0.25, radius/1000) / earthRadius,
	}
}

// at is the point of the circle in a direction, in radians clockwise from north.
func (c *circle) at(bearing float64) Point {
	sinB, cosB := math.Sincos(bearing)
	sinA, cosA := math.Sincos(c.angle)
	n, e := sinA*cosB, sinA*sinB
	return vector{
		cosA*c.center.x + n*c.north.x + e*c.east.x,
		cosA*c.center.y + n*c.north.y + e*c.east.y,
		cosA*c.center.z + n*c.north.z + e*c.east.z,
	}.point()
}

// arc adds the vertices between a and b that are needed.
func (c *circle) arc(from float64, a Point, to float64, b Point, depth int) {
	if depth == 0 || c.near(a, b) {
		return
	}
	mid := (from + to) / 2
	m := c.at(mid)
	c.arc(from, a, mid, m, depth-1)
	c.ring = append(c.ring, m)
	c.arc(mid, m, to, b, depth-1)
}

// near reports whether the edge a-b, the short way round, is within tolerance of the circle.
func (c *circle) near(a, b Point) bool {
	dLon, dLat := math.Remainder(b.Lon-a.Lon, 360), b.Lat-a.Lat
	for _, t := range [...]float64{0.25, 0.5, 0.75} {
		d := c.center.angle(vectorOf(Point{a.Lon + t*dLon, a.Lat + t*dLat}))
		if math.Abs(d-c.angle) > c.tolerance {
			return false
		}
	}
	return true
}

// vector is a place on the unit sphere.
type vector struct{ x, y, z float64 }

func vectorOf(p Point) vector {
	sinLat, cosLat := math.Sincos(p.Lat * math.Pi / 180)
	sinLon, cosLon := math.Sincos(p.Lon * math.Pi / 180)
	return vector{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// point keeps its precision at the poles, which an arc sine would not.
func (v vector) point() Point {
	return Point{
		math.Atan2(v.y, v.x) * 180 / math.Pi,
		math.Atan2(v.z, math.Hypot(v.x, v.y)) * 180 / math.Pi,
	}
}

// angle is the angle between two places, precise for small ones too.
func (v vector) angle(w vector) float64 {
	x, y, z := v.y*w.z-v.z*w.y, v.z*w.x-v.x*w.z, v.x*w.y-v.y*w.x
	return math.Atan2(math.Sqrt(x*x+y*y+z*z), v.x*w.x+v.y*w.y+v.z*w.z)
}

// Rectangle is the area between two meridians and two parallels, in degrees. If west is
// greater than east it is over the antimeridian, and has two parts (RFC 7946, section 5.2).
func Rectangle(west, south, east, north float64) (MultiPolygon, error) {
	for _, p := range []Point{{west, south}, {east, north}} {
		if reason := p.OutOfRange(); reason != "" {
			return nil, fmt.Errorf("%w: the corner %s", ErrShape, reason)
		}
	}
	if south >= north || west == east {
		return nil, fmt.Errorf("%w: the box %v,%v,%v,%v has no area", ErrShape, west, south, east, north)
	}
	if west < east {
		return MultiPolygon{{rectangle(west, south, east, north)}}, nil
	}
	var mp MultiPolygon
	if west < 180 {
		mp = append(mp, Polygon{rectangle(west, south, 180, north)})
	}
	if east > -180 {
		mp = append(mp, Polygon{rectangle(-180, south, east, north)})
	}
	if mp == nil {
		return nil, fmt.Errorf("%w: the box %v,%v,%v,%v has no area", ErrShape, west, south, east, north)
	}
	return mp, nil
}

func rectangle(w, s, e, n float64) Ring { return Ring{{w, s}, {e, s}, {e, n}, {w, n}} }
