package geometry

import "math"

// The ellipsoid WGS84: its greater radius in metres, and the square of its eccentricity.
const (
	equatorRadius = 6_378_137.0
	flattening    = 1 / 298.257223563
	eccentricity2 = flattening * (2 - flattening)
	radian        = math.Pi / 180
)

const (
	// nearMetres and nearAxis, a share of the distance to the axis of the earth, bound the
	// distances that Metric computes by its series. Its error grows with their third power.
	nearMetres = 50_000
	nearAxis   = 0.03

	// LatDegree is less than the length in metres of a degree of latitude anywhere.
	LatDegree = 110_574
)

// LonDegree is less than the length in metres of a degree of longitude at a latitude.
func LonDegree(lat float64) float64 {
	_, cos := sincos(lat)
	return max(cos, 0) * (equatorRadius * radian)
}

// Metric measures distances in metres on WGS84 from one point, to places and to edges that are
// straight in longitude and latitude. An edge goes the way that its coordinates tell, and places on
// both sides of longitude 180 are near each other.
//
// Between 80 degrees south and north it errs by less than 0.01 mm up to 1 km, by less than 1 mm up
// to 10 km, and by less than 0.4 m up to 50 km; nearer to a pole by less than a millionth. Beyond,
// or near a pole from a thirtieth of the distance to it, it takes the chord through the earth and
// errs by 0.4 % at most. Results are the same to the bit on every processor.
type Metric struct {
	from Point

	// Metres per degree of longitude and of latitude, as series in half the difference of latitude.
	east  [3]float64
	north [2]float64
	bend  [2]float64 // what the next order takes off: for both axes, and for east alone
	near2 float64    // the square of the distance up to which the series is used

	axis, height float64 // metres from the axis of the earth, and above the plane of the equator
}

// MetricAt returns the Metric from p, which is finite.
func MetricAt(p Point) Metric {
	sin, cos := sincos(p.Lat)
	cos = max(cos, 0)
	w2 := 1 - float64(eccentricity2*float64(sin*sin))
	n := equatorRadius / math.Sqrt(w2)           // radius of curvature to the east
	m := n * (1 - eccentricity2) / w2            // to the north
	dm := 3 * eccentricity2 * m * sin * cos / w2 // by latitude
	axis := n * cos
	x := Metric{from: p, axis: axis, height: n * (1 - eccentricity2) * sin}
	x.east = [3]float64{
		axis * radian,
		-m * sin * (radian * radian),
		-(float64(m*cos) + float64(dm*sin)) * (radian * radian * radian / 2),
	}
	x.north = [2]float64{m * radian, dm * (radian * radian)}
	if axis > 1 { // else the series is not used
		cos2 := float64(cos * cos)
		x.bend = [2]float64{(1.0/6 - 1/(4*cos2)) / (m * n), sin * sin / (12 * cos2) / (m * n)}
	}
	near := min(nearMetres, nearAxis*axis)
	x.near2 = near * near
	return x
}

// Degree returns the lengths in metres of a degree of longitude and of one of latitude at the
// point.
func (m *Metric) Degree() (lon, lat float64) { return m.east[0], m.north[0] }

// To returns the distance to q.
func (m *Metric) To(q Point) float64 {
	s := newSearch(m)
	s.edge(q, q)
	return s.metres()
}

// Edge returns the distance to the edge a-b, and the share of the edge at which its nearest place
// is: 0 at a, 1 at b.
func (m *Metric) Edge(a, b Point) (metres, share float64) {
	s := newSearch(m)
	share, _ = s.edge(a, b)
	return s.metres(), share
}

// squared returns the square of the distance to a place, given by its differences in degrees, or
// more than near2 if it is not near.
func (m *Metric) squared(dlon, dlat float64) float64 {
	h := dlat / 2
	x := dlon * (m.east[0] + float64(h*(m.east[1]+float64(h*m.east[2]))))
	y := dlat * (m.north[0] + float64(h*m.north[1]))
	xx, yy := float64(x*x), float64(y*y)
	if xx+yy > 1.1*m.near2 { // it is not near, and the next order may be anything
		return xx + yy
	}
	return xx + yy + float64(xx*(float64(yy*m.bend[0])-float64(xx*m.bend[1])))
}

// chord2 returns the square of the length of the chord through the earth to a place.
func (m *Metric) chord2(dlon, lat float64) float64 {
	sin, cos := sincos(lat)
	n := equatorRadius / math.Sqrt(1-float64(eccentricity2*float64(sin*sin)))
	sinLon, cosLon := sincos(dlon)
	x := m.axis - float64(n*cos*cosLon)
	y := n * cos * sinLon
	z := m.height - float64(n*(1-eccentricity2)*sin)
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// arc returns the way over a sphere between the ends of a chord.
func arc(chord2 float64) float64 {
	return 2 * earthRadius * arcsin(min(math.Sqrt(chord2)/(2*earthRadius), 1))
}

// Box returns a distance that no place in the box is nearer than. It is 0 for a point in the box,
// and at least two thirds of the distance within 50 km, which is enough to discard by.
func (m *Metric) Box(b Box) float64 {
	north := max(b.MinLat-m.from.Lat, m.from.Lat-b.MaxLat, 0) * LatDegree
	west, east := b.MinLon-m.from.Lon, b.MaxLon-m.from.Lon
	gap := max(west, -east, 0)
	if gap > 0 { // the other way round
		gap = min(gap, max(360-max(east, -west), 0))
	}
	// No place on a meridian is nearer than its plane.
	g := min(gap, 90) * radian
	return 0.99 * max(north, m.axis*(g-float64(float64(g*g)*g)/6))
}

// Widened returns a box that has all places within so many metres of the box. It may reach beyond
// longitude 180, or all round a pole.
func (b Box) Widened(metres float64) Box {
	lat := metres / LatDegree
	b.MinLat, b.MaxLat = b.MinLat-lat, b.MaxLat+lat
	_, cos := sincos(min(max(-b.MinLat, b.MaxLat), 90))
	lon := 360.0
	if least := cos * (0.99 * equatorRadius * radian); least*180 > metres {
		lon = metres / least
	}
	b.MinLon, b.MaxLon = b.MinLon-lon, b.MaxLon+lon
	return b
}

// sincos returns the sine and the cosine of an angle in degrees, of at most a few turns. The
// functions of package math may fuse operations on some processors, and then differ.
func sincos(degrees float64) (sin, cos float64) {
	quarter := math.Floor(degrees/90 + 0.5)
	x := (degrees - float64(quarter*90)) * radian
	xx := float64(x * x)
	sin, cos = x*series(xx, &sine), series(xx, &cosine)
	switch int(quarter) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}

// The coefficients of the series by the square of the angle. Up to 45 degrees the terms beyond are
// less than the rounding of float64.
var (
	sine = [...]float64{
		-1.0 / 1_307_674_368_000, 1.0 / 6_227_020_800, -1.0 / 39_916_800, 1.0 / 362_880,
		-1.0 / 5_040, 1.0 / 120, -1.0 / 6, 1,
	}
	cosine = [...]float64{
		-1.0 / 87_178_291_200, 1.0 / 479_001_600, -1.0 / 3_628_800, 1.0 / 40_320,
		-1.0 / 720, 1.0 / 24, -1.0 / 2, 1,
	}
)

func series(x float64, coefficients *[8]float64) float64 {
	sum := coefficients[0]
	for _, c := range coefficients[1:] {
		sum = float64(sum*x) + c
	}
	return sum
}

// arcsin returns the angle in radians of a sine from 0 to 1, by Newton's method.
func arcsin(s float64) float64 {
	if s > math.Sqrt2/2 {
		return math.Pi/2 - 2*arcsin(math.Sqrt((1-s)/2))
	}
	angle := s
	for range 4 {
		sin, cos := sincos(angle / radian)
		angle -= (sin - s) / cos
	}
	return angle
}

// Chain returns the distance to the nearest of the edges from first over the others, or most if
// none is nearer than that. It passes by edges that are on one side of near, a box around all
// places that are less than most away.
func (m *Metric) Chain(first Point, others []Point, most float64, near *Box) float64 {
	s := newSearch(m)
	s.nearer(float64(most * most))
	found := false
	for _, p := range others {
		if !near.isBeside(first, p) {
			if _, nearer := s.edge(first, p); nearer {
				found = true
			}
		}
		first = p
	}
	if !found {
		return most
	}
	return s.metres()
}

// isBeside reports whether the edge a-b is on one side of the box.
func (b *Box) isBeside(p, q Point) bool {
	return p.Lat < b.MinLat && q.Lat < b.MinLat || p.Lat > b.MaxLat && q.Lat > b.MaxLat ||
		p.Lon < b.MinLon && q.Lon < b.MinLon || p.Lon > b.MaxLon && q.Lon > b.MaxLon
}
