package geometry

import "math"

// search finds the edge that is nearest to the point of a Metric.
type search struct {
	*Metric
	best float64 // the square of the least distance so far

	// An edge that is all further to one side than this, in degrees, is not nearer.
	lon, lat float64
}

func newSearch(m *Metric) search {
	return search{Metric: m, best: math.Inf(1), lon: math.Inf(1), lat: math.Inf(1)}
}

// nearer notes a distance that is less than all before.
func (s *search) nearer(squared float64) {
	s.best = squared
	if squared <= s.near2 {
		// A degree is as long as at the point but for a thirtieth.
		reach := 1.1 * math.Sqrt(squared)
		s.lon, s.lat = reach/s.east[0], reach/s.north[0]
		return
	}
	// On a sphere no place beyond a meridian is nearer than that is, by Napier's rule. The share
	// that is added is more than the ellipsoid, and the error of far distances, take away.
	angle := 1.03 * math.Sqrt(squared) / equatorRadius
	if angle >= 1 {
		return
	}
	s.lat = angle / radian
	if sin := math.Sin(angle) * equatorRadius * radian / s.east[0]; sin < 1 {
		s.lon = math.Asin(sin) / radian
	}
}

// aside reports whether all of an edge is further to one side than the nearest place so far.
func (s *search) aside(from Point, dlon, dlat float64) bool {
	lon, lat := from.Lon+dlon, from.Lat+dlat
	return from.Lat > s.lat && lat > s.lat || from.Lat < -s.lat && lat < -s.lat ||
		from.Lon > s.lon && lon > s.lon || from.Lon < -s.lon && lon < -s.lon
}

func (s *search) metres() float64 { return math.Sqrt(s.best) }

// asideOf reports whether a box is further to one side than the nearest place so far. One that may
// be nearer the other way round the world is not.
func (s *search) asideOf(b Box) bool {
	north, south := b.MinLat-s.from.Lat, s.from.Lat-b.MaxLat
	east, west := b.MinLon-s.from.Lon, s.from.Lon-b.MaxLon
	return north > s.lat || south > s.lat ||
		east > s.lon && s.from.Lon-b.MaxLon+360 > s.lon || west > s.lon && b.MinLon-s.from.Lon+360 > s.lon
}

// longDegrees is the length in degrees from which on an edge is measured in pieces: the series and
// the parabola are for edges that are short.
const longDegrees = 1

// edge looks at the edge a-b. If it is nearer than all before it returns the share of it at which
// its nearest place is.
func (s *search) edge(a, b Point) (share float64, nearer bool) {
	dlon, dlat := b.Lon-a.Lon, b.Lat-a.Lat
	from := Point{a.Lon - s.from.Lon, a.Lat - s.from.Lat}
	if math.Abs(dlon) > longDegrees || math.Abs(dlat) > longDegrees {
		return s.long(from, dlon, dlat)
	}
	switch middle := from.Lon + dlon/2; {
	case middle > 180:
		from.Lon -= 360
	case middle < -180:
		from.Lon += 360
	}
	if s.aside(from, dlon, dlat) {
		return 0, false
	}
	return s.piece(from, dlon, dlat)
}

// long is edge for a long one, which may be nearest after more than half a turn.
func (s *search) long(from Point, dlon, dlat float64) (share float64, nearer bool) {
	n := math.Ceil(max(math.Abs(dlon), math.Abs(dlat)) / longDegrees)
	stepLon, stepLat := dlon/n, dlat/n
	for i := 0.0; i < n; i++ {
		at := Point{from.Lon + float64(i*stepLon), from.Lat + float64(i*stepLat)}
		at.Lon -= float64(360 * math.Floor(at.Lon/360+0.5))
		if t, ok := s.piece(at, stepLon, stepLat); ok {
			share, nearer = (i+t)/n, true
		}
	}
	return share, nearer
}

// piece looks at a short edge, given by the place of its beginning from the point, and its extent.
func (s *search) piece(from Point, dlon, dlat float64) (share float64, nearer bool) {
	// As if all degrees were as long as at the point: no more than a thirtieth wrong if it is near.
	x, y := from.Lon*s.east[0], from.Lat*s.north[0]
	dx, dy := dlon*s.east[0], dlat*s.north[0]
	t := 0.0
	if size := float64(dx*dx) + float64(dy*dy); size > 0 {
		t = clamp(-(float64(x*dx) + float64(y*dy)) / size)
	}
	x, y = x+float64(t*dx), y+float64(t*dy)
	if rough := float64(x*x) + float64(y*y); s.best <= s.near2 && rough > 1.21*s.best {
		return 0, false
	}
	t = s.refine(from, dlon, dlat, t)
	d := s.squared(from.Lon+float64(t*dlon), from.Lat+float64(t*dlat))
	if !(d <= s.near2) {
		return s.far(from, dlon, dlat, t)
	}
	if d >= s.best {
		return 0, false
	}
	s.nearer(d)
	return t, true
}

// refine makes a step of Gauss and Newton from the nearest place on a level plane to that on the
// ellipsoid.
func (s *search) refine(from Point, dlon, dlat, t float64) float64 {
	lon, lat := from.Lon+float64(t*dlon), from.Lat+float64(t*dlat)
	h, dh := lat/2, dlat/2
	perLon := s.east[0] + float64(h*(s.east[1]+float64(h*s.east[2])))
	perLat := s.north[0] + float64(h*s.north[1])
	x, y := lon*perLon, lat*perLat
	dx := float64(dlon*perLon) + float64(lon*dh*(s.east[1]+float64(2*h*s.east[2])))
	dy := float64(dlat*perLat) + float64(lat*dh*s.north[1])
	size := float64(dx*dx) + float64(dy*dy)
	if !(size > 0) {
		return t
	}
	return clamp(t - (float64(x*dx)+float64(y*dy))/size)
}

// far is piece by chords. Along the edge their squares are nearly a parabola, whose least place is
// looked at besides the ends and the place where the series has it.
func (s *search) far(from Point, dlon, dlat, guess float64) (share float64, nearer bool) {
	north := max(min(from.Lat, from.Lat+dlat), -max(from.Lat, from.Lat+dlat), 0) * LatDegree
	if 0.98*float64(north*north) > s.best {
		return 0, false
	}
	chord2 := func(t float64) float64 {
		return s.chord2(from.Lon+float64(t*dlon), s.from.Lat+from.Lat+float64(t*dlat))
	}
	try := func(t, c float64) {
		if c >= s.best { // and so is the arc
			return
		}
		if d := arc(c); float64(d*d) < s.best {
			s.nearer(float64(d * d))
			share, nearer = t, true
		}
	}
	first, middle, last := chord2(0), chord2(0.5), chord2(1)
	try(0, first)
	try(1, last)
	try(guess, chord2(guess))
	if bend := first - 2*middle + last; bend > 0 {
		t := clamp((float64(3*first) - float64(4*middle) + last) / (4 * bend))
		try(t, chord2(t))
	}
	return share, nearer
}

func clamp(t float64) float64 { return min(max(t, 0), 1) }
