package geometry

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Unwrap returns the area of rings that cross the antimeridian, split at it.
//
// A longitude beyond 180 names the same place as that minus or plus 360, which is exact in float64.
// An edge over more than 180 degrees goes the short way round, and so does an edge from one side of
// 180 to the other. Only a whole parallel from -180 to 180 stays. Where an edge meets the
// antimeridian a vertex is added, the same one for every fence that has the edge in either
// direction. Edges along the antimeridian close the pieces, always between consecutive crossings to
// the north.
//
// A ring that winds round a pole has a cap: it is closed by that pole. It is the pole to which the
// middle between the ring's least and greatest latitude is nearer, and the north pole if it is 0.
// Direction has no meaning here either.
//
// Parts without any such edge stay as they are, except for longitudes beyond 180.
func Unwrap(mp MultiPolygon) MultiPolygon { return unwrap(mp, 0) }

// unwrap is Unwrap with the latitude of the cap, 90 or -90, or 0 to choose.
func unwrap(mp MultiPolygon, pole float64) MultiPolygon {
	var out MultiPolygon
	for _, part := range mp {
		out = append(out, unwrapPart(part, pole)...)
	}
	return out
}

func unwrapPart(part Polygon, pole float64) MultiPolygon {
	var s splitter
	for _, r := range part {
		s.ring(r, pole)
	}
	if len(s.chains) == 0 {
		return MultiPolygon{s.whole}
	}
	return groupByBox(append(s.join(), s.whole...))
}

// UnwrapLines returns lines that cross the antimeridian in pieces, cut at it as Unwrap cuts edges.
func UnwrapLines(ml MultiLine) MultiLine {
	var out MultiLine
	for _, l := range ml {
		out = append(out, unwrapLine(l)...)
	}
	return out
}

func unwrapLine(given Line) MultiLine {
	var out MultiLine
	var piece Line
	for i, p := range given {
		q := Point{WrapLon(p.Lon), p.Lat}
		if i > 0 {
			before := piece[len(piece)-1]
			if d := crossing(given[i-1], p, before, q); d != 0 {
				side, cut := math.Copysign(180, float64(d)), cutLat(before, q)
				out = append(out, append(piece, Point{side, cut}))
				piece = Line{{-side, cut}}
			}
		}
		piece = append(piece, q)
	}
	return append(out, piece)
}

// splitter cuts the rings of a part into chains between the antimeridian's two sides.
type splitter struct {
	whole  Polygon // rings that do not cross
	chains []Ring  // from longitude 180 or -180 to the same or the other, its ends included
}

func (s *splitter) ring(given Ring, pole float64) {
	r := make(Ring, len(given))
	for i, p := range given {
		r[i] = Point{WrapLon(p.Lon), p.Lat}
	}
	first, turns := -1, 0
	for i := range r {
		if d := crossing(given[i], given[(i+1)%len(r)], r[i], r[(i+1)%len(r)]); d != 0 {
			turns += d
			first = i
		}
	}
	if first < 0 {
		s.whole = append(s.whole, r)
		return
	}
	var chain Ring
	for k := range len(r) + 1 {
		i := (first + k) % len(r)
		j := (i + 1) % len(r)
		if k > 0 {
			chain = append(chain, r[i])
		}
		d := crossing(given[i], given[j], r[i], r[j])
		if d == 0 {
			continue
		}
		side := math.Copysign(180, float64(d)) // where the edge leaves; it goes on at the other
		cut := cutLat(r[i], r[j])
		if k > 0 {
			s.chains = append(s.chains, append(chain, Point{side, cut}))
		}
		chain = Ring{{-side, cut}}
	}
	if turns%2 != 0 {
		s.cap(r, pole)
	}
}

// cap adds an edge along the pole that a ring winds round.
func (s *splitter) cap(r Ring, pole float64) {
	if pole == 0 {
		b := Polygon{r}.Bounds()
		pole = 90
		if b.MinLat+b.MaxLat < 0 {
			pole = -90
		}
	}
	s.chains = append(s.chains, Ring{{-180, pole}, {180, pole}})
}

// WrapLon gives the longitude within -180 and 180 of the same place. The sums are exact: they
// have a lesser magnitude than the operands, and are multiples of the same power of two. It is NaN
// if lon is not finite.
func WrapLon(lon float64) float64 {
	if math.Abs(lon) > 720 {
		lon = math.Mod(lon, 360) // exact too, and ends for any number of turns
	}
	for lon > 180 {
		lon -= 360
	}
	for lon < -180 {
		lon += 360
	}
	return lon
}

// crossing is 1 if the edge goes over the antimeridian eastwards, -1 if westwards, 0 if not.
// The ends are given as they were and wrapped.
func crossing(a, b, wa, wb Point) int {
	d := b.Lon - a.Lon
	if math.Abs(d) == 360 && a.Lat == b.Lat {
		return 0 // the border of a world map, not an edge from a point to itself
	}
	d = WrapLon(d)
	switch planar := wb.Lon - wa.Lon; {
	case math.Abs(planar-d) < 180: // what remains is rounding, where 360 stands for a crossing
		return 0
	case planar < d:
		return 1
	}
	return -1
}

// cutLat is the latitude at which an edge over the antimeridian meets it. It is computed from
// the end that comes first by latitude and longitude to the other, so that it does not depend
// on the direction in which a ring has the edge.
func cutLat(lo, hi Point) float64 {
	if hi.Lat < lo.Lat || hi.Lat == lo.Lat && hi.Lon < lo.Lon {
		lo, hi = hi, lo
	}
	near, far := 180-math.Abs(lo.Lon), 180-math.Abs(hi.Lon)
	switch {
	case near == 0 || lo.Lat == hi.Lat:
		return lo.Lat
	case far == 0:
		return hi.Lat
	}
	lat := lo.Lat + float64(near/(near+far)*(hi.Lat-lo.Lat))
	return min(max(lat, lo.Lat), hi.Lat)
}

// chainEnd is an end of a chain on a side of the antimeridian.
type chainEnd struct {
	lat   float64
	chain int
	last  bool
}

// join makes rings of the chains: on each side their ends are sorted by latitude, and the
// first is joined to the second, the third to the fourth. Between those, and nowhere else, the
// area reaches the antimeridian, whatever chains they are of.
func (s *splitter) join() Polygon {
	var sides [2][]chainEnd
	for i, c := range s.chains {
		for _, last := range []bool{false, true} {
			p := c[0]
			if last {
				p = c[len(c)-1]
			}
			k := 0
			if p.Lon > 0 {
				k = 1
			}
			sides[k] = append(sides[k], chainEnd{p.Lat, i, last})
		}
	}
	partner := map[chainEnd]chainEnd{}
	for _, ends := range sides {
		slices.SortStableFunc(ends, func(a, b chainEnd) int { return cmp.Compare(a.lat, b.lat) })
		for i := 0; i+1 < len(ends); i += 2 {
			partner[ends[i]], partner[ends[i+1]] = ends[i+1], ends[i]
		}
	}
	return s.trace(partner)
}

// trace follows chains and joints until each chain is in a ring.
func (s *splitter) trace(partner map[chainEnd]chainEnd) Polygon {
	var rings Polygon
	used := make([]bool, len(s.chains))
	for i := range s.chains {
		var r Ring
		for at := (chainEnd{chain: i}); !used[at.chain]; {
			used[at.chain] = true
			c := slices.Clone(s.chains[at.chain])
			if at.last { // it is walked from its end
				slices.Reverse(c)
			}
			r = append(r, c...)
			at = partner[chainEnd{c[len(c)-1].Lat, at.chain, !at.last}]
		}
		if r = Tidy(r, nil).Ring; len(r) >= 3 {
			rings = append(rings, r)
		}
	}
	return rings
}

// Antimeridian says what is made of rings that reach over the antimeridian in one piece.
// Polygons that are split at it (RFC 7946, section 3.1.9) need neither choice.
type Antimeridian string

const (
	// AntimeridianPlanar takes coordinates as they are: an edge over more than 180 degrees goes
	// the long way round, with a finding, and longitudes beyond 180 are refused.
	AntimeridianPlanar Antimeridian = "planar"
	// AntimeridianUnwrap takes them as Unwrap does.
	AntimeridianUnwrap Antimeridian = "unwrap"
)

// ErrAntimeridian is wrapped by the error for a choice that does not exist.
var ErrAntimeridian = errors.New("unknown way at the antimeridian")

// ParseAntimeridian gives the choice named s, AntimeridianPlanar if s is empty. For an unknown
// name the error wraps ErrAntimeridian and lists the choices.
func ParseAntimeridian(s string) (Antimeridian, error) {
	switch a := Antimeridian(s); a {
	case "":
		return AntimeridianPlanar, nil
	case AntimeridianPlanar, AntimeridianUnwrap:
		return a, nil
	}
	return "", fmt.Errorf("%w %q: it must be %s or %s", ErrAntimeridian, s, AntimeridianPlanar, AntimeridianUnwrap)
}
