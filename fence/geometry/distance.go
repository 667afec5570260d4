package geometry

import (
	"math"
	"slices"
)

// SignedDistance returns the distance in metres from p to the boundary of the area: positive if the
// area holds p, negative if not. It is -Inf if there is no boundary, or if p is not finite. Metric
// states its error.
//
// Where parts overlap, it is less than the distance to the boundary of their union. Edges that join
// the halves of an area at longitude 180, or close it along a pole, are no boundary.
func (mp MultiPolygon) SignedDistance(p Point) float64 {
	p, ok := Normalize(p.Lon, p.Lat)
	if !ok {
		return math.Inf(-1)
	}
	m := MetricAt(p)
	if seams := mp.seams(); len(seams) > 0 {
		s := newSearch(&m)
		for _, part := range mp {
			s.part(part, seams)
		}
		return signed(s.metres(), mp.holds(p))
	}
	a := PreparedArea{area: mp}
	return a.signed(&m)
}

// signed returns the distance to leave the last of the parts that hold the point, or to the nearest
// of all.
func (a *PreparedArea) signed(m *Metric) float64 {
	inside := math.Inf(-1)
	outside := newSearch(m)
	for i := range a.area {
		if a.holds(i, m.from) {
			s := newSearch(m)
			a.measure(i, &s)
			inside = max(inside, s.metres())
		} else if math.IsInf(inside, -1) {
			a.measure(i, &outside)
		}
	}
	if inside >= 0 {
		return inside
	}
	return signed(outside.metres(), false)
}

func signed(metres float64, in bool) float64 {
	switch {
	case in && math.IsInf(metres, 1): // all of the earth
		return math.Inf(-1)
	case in || metres == 0:
		return metres
	}
	return -metres
}

// PreparedArea measures as its area does, with fewer edges looked at. It shares the area's memory.
type PreparedArea struct {
	area  MultiPolygon
	parts []PreparedPart // nil if edges on the antimeridian are no boundary
}

// PrepareArea returns the area for measuring.
func PrepareArea(mp MultiPolygon) *PreparedArea {
	a := &PreparedArea{area: mp}
	if len(mp.seams()) == 0 {
		a.parts = make([]PreparedPart, len(mp))
		for i, part := range mp {
			a.parts[i] = Prepare(part)
		}
	}
	return a
}

// SignedDistance is MultiPolygon.SignedDistance.
func (a *PreparedArea) SignedDistance(p Point) float64 {
	p, ok := Normalize(p.Lon, p.Lat)
	if !ok || len(a.parts) == 0 {
		return a.area.SignedDistance(p)
	}
	m := MetricAt(p)
	return a.signed(&m)
}

func (a *PreparedArea) holds(part int, p Point) bool {
	if a.parts == nil {
		return a.area[part].holds(p)
	}
	return a.parts[part].holds(p)
}

// measure looks at the edges of a part.
func (a *PreparedArea) measure(part int, s *search) {
	if a.parts == nil {
		s.part(a.area[part], nil)
		return
	}
	a.parts[part].measure(s)
}

// BoundaryDistance returns SignedDistance without its sign: the distance in metres from p to the
// boundary. It is +Inf if there is none.
func (mp MultiPolygon) BoundaryDistance(p Point) float64 { return math.Abs(mp.SignedDistance(p)) }

// measure looks at the edges of the part: first at those of the nearest chain, so that there is
// little to look at in the others.
func (part PreparedPart) measure(s *search) {
	first := part.nearest(s)
	for k := range part {
		i := k
		switch k { // the nearest takes turns with the first
		case 0:
			i = first
		case first:
			i = 0
		}
		if !s.asideOf(part[i].box) {
			s.chain(&part[i])
		}
	}
}

func (s *search) chain(c *chain) {
	for k := range c.edges() {
		if a, b := c.edge(k); math.Abs(a.Lat) != 90 || a.Lat != b.Lat {
			s.edge(a, b)
		}
	}
}

// nearest is the chain whose box is nearest, as if the world were level there.
func (part PreparedPart) nearest(s *search) (first int) {
	least := math.Inf(1)
	for i := range part {
		b := &part[i].box
		x := max(b.MinLon-s.from.Lon, s.from.Lon-b.MaxLon, 0) * s.east[0]
		y := max(b.MinLat-s.from.Lat, s.from.Lat-b.MaxLat, 0) * s.north[0]
		if d := float64(x*x) + float64(y*y); d < least {
			least, first = d, i
		}
	}
	return first
}

// part looks at the edges of a part, without the seams.
func (s *search) part(pg Polygon, seams []seam) {
	for _, r := range pg {
		if len(r) == 0 {
			continue
		}
		a := r[len(r)-1]
		for _, b := range r {
			switch {
			case math.Abs(a.Lat) == 90 && a.Lat == b.Lat: // a pole is one place
			case len(seams) > 0 && math.Abs(a.Lon) == 180 && a.Lon == b.Lon:
				s.meridian(a, b, seams)
			default:
				s.edge(a, b)
			}
			a = b
		}
	}
}

// meridian looks at the pieces of an edge on longitude 180 or -180 that are outside of seams.
func (s *search) meridian(a, b Point, seams []seam) {
	from, to := min(a.Lat, b.Lat), max(a.Lat, b.Lat)
	for _, sm := range seams {
		if sm.south > from && sm.south < to {
			s.edge(Point{a.Lon, from}, Point{a.Lon, sm.south})
		}
		if sm.north > from && sm.south <= to {
			from = sm.north
		}
	}
	if from < to {
		s.edge(Point{a.Lon, from}, Point{a.Lon, to})
	}
}

// seam is a piece of longitude 180 that an area reaches from both sides, so that it is within.
type seam struct{ south, north float64 }

// seams returns those of the area, from the south to the north.
func (mp MultiPolygon) seams() []seam {
	west, east := mp.reach(-180), mp.reach(180)
	if !west || !east {
		return nil
	}
	return intersect(mp.along(-180), mp.along(180))
}

// reach reports whether there is an edge on the meridian.
func (mp MultiPolygon) reach(lon float64) bool {
	for _, part := range mp {
		for _, r := range part {
			for i, p := range r {
				if p.Lon == lon && r[(i+1)%len(r)].Lon == lon {
					return true
				}
			}
		}
	}
	return false
}

// along returns where the area reaches the meridian: between the first and the second end of an
// edge on it, between the third and the fourth, and so on.
func (mp MultiPolygon) along(lon float64) []seam {
	var ends []float64
	for _, part := range mp {
		for _, r := range part {
			for i, p := range r {
				if q := r[(i+1)%len(r)]; p.Lon == lon && q.Lon == lon && p.Lat != q.Lat {
					ends = append(ends, p.Lat, q.Lat)
				}
			}
		}
	}
	slices.Sort(ends)
	var out []seam
	for i := 0; i+1 < len(ends); i += 2 {
		switch last := len(out) - 1; {
		case ends[i] == ends[i+1]:
		case last >= 0 && out[last].north == ends[i]:
			out[last].north = ends[i+1]
		default:
			out = append(out, seam{ends[i], ends[i+1]})
		}
	}
	return out
}

// intersect returns the common pieces of two ascending lists.
func intersect(a, b []seam) []seam {
	var out []seam
	for len(a) > 0 && len(b) > 0 {
		s := seam{max(a[0].south, b[0].south), min(a[0].north, b[0].north)}
		if s.south < s.north {
			out = append(out, s)
		}
		if a[0].north < b[0].north {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
