package city

import (
	"math"

	"paddock/fence/geometry"
)

// The city lies in the middle of the North Atlantic, where it overlaps no real map. A degree of
// longitude has the length that it has at the centre's latitude, because the city is small.
const (
	centreLon, centreLat = -30.0, 47.5
	metresPerLat         = 111177.0
	metresPerLon         = 75218.0 // at 47.5 degrees north
	gridPerDegree        = 1e7
)

// locate returns the place of p on the globe, on a grid of 1e-7 degrees (about a centimetre). Every
// coordinate that leaves this package is rounded here.
func locate(p vec) geometry.Point {
	return geometry.Point{Lon: grid(centreLon, p.x/metresPerLon), Lat: grid(centreLat, p.y/metresPerLat)}
}

// grid rounds origin + degrees to the nearest double of a seven-digit decimal.
func grid(origin, degrees float64) float64 {
	return math.Floor(float64((origin+degrees)*gridPerDegree)+0.5) / gridPerDegree
}

// plane is the inverse of locate, but for the rounding.
func plane(p geometry.Point) vec {
	return vec{float64((p.Lon - centreLon) * metresPerLon), float64((p.Lat - centreLat) * metresPerLat)}
}

// survey is the mesh as it lies on the ground: its straight edges divided into
// short pieces and bent. Vertices and pieces exist once, so everything drawn
// from them fits together.
type survey struct {
	m     *mesh
	warp  warp
	pos   []vec   // by vertex
	inner [][]vec // by edge: the points between its ends, from the even half-edge's origin on
}

// pieces is how many edges the outline of a compact district should have. Its
// perimeter is about 4.4 times the root of its area.
const pieces = 84

// newSurvey bends the mesh. The length of pieces follows the districts' size,
// which is scale times the grain.
func newSurvey(m *mesh, w warp, scale float64) *survey {
	s := &survey{m: m, warp: w, pos: make([]vec, len(m.pos)), inner: make([][]vec, len(m.class))}
	for v, p := range m.pos {
		s.pos[v] = w.apply(p)
	}
	for e := range s.inner {
		a, b := m.from(int32(2*e)), m.to(int32(2*e))
		s.inner[e] = s.bend(a, b, float64(math.Sqrt(float64(scale*grain(mix(a, b, 0.5))))*(4.4/pieces)))
	}
	return s
}

// bend divides ab into pieces of about the given length, and returns the bent points between the
// ends.
func (s *survey) bend(a, b vec, length float64) []vec {
	n := int(b.sub(a).len()/length + 0.5)
	var points []vec
	for i := 1; i < n; i++ {
		points = append(points, s.warp.apply(mix(a, b, float64(i)/float64(n))))
	}
	return points
}

// appendEdge appends the points of half-edge e, without the one at its end.
func (s *survey) appendEdge(dst []vec, e int32) []vec {
	dst = append(dst, s.pos[s.m.org[e]])
	points := s.inner[e/2]
	if e&1 == 0 {
		return append(dst, points...)
	}
	for i := len(points) - 1; i >= 0; i-- {
		dst = append(dst, points[i])
	}
	return dst
}

// bent is a ring that is no part of the mesh, as it lies on the ground.
func (s *survey) bent(ring []vec) []vec {
	out := make([]vec, len(ring))
	for i, p := range ring {
		out[i] = s.warp.apply(p)
	}
	return out
}

func toRing(points []vec) geometry.Ring {
	r := make(geometry.Ring, len(points))
	for i, p := range points {
		r[i] = locate(p)
	}
	return r
}
