package track_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"paddock/fence/geometry"
	"paddock/fence/track"
)

// holds decides by the half-open rule: a point is in a polygon if a ray to the east crosses its
// edges an odd number of times, where an edge has its southern end and not its northern one.
func holds(area geometry.MultiPolygon, p geometry.Point) bool {
	for _, polygon := range area {
		odd := false
		for _, ring := range polygon {
			for i, a := range ring {
				b := ring[(i+1)%len(ring)]
				if a.Lat > b.Lat {
					a, b = b, a
				}
				if p.Lat < a.Lat || p.Lat >= b.Lat {
					continue
				}
				if p.Lon < min(a.Lon, b.Lon) || p.Lon >= max(a.Lon, b.Lon) { // plain to see
					odd = odd != (p.Lon < min(a.Lon, b.Lon))
					continue
				}
				share := quotient(p.Lat, a.Lat, b.Lat, a.Lat)
				lon := new(big.Rat).Add(exact(a.Lon), share.Mul(share, difference(b.Lon, a.Lon)))
				odd = odd != (exact(p.Lon).Cmp(lon) < 0)
			}
		}
		if odd {
			return true
		}
	}
	return false
}

// crossing returns the time of the last crossing of the path from a to b with the boundary.
func crossing(area geometry.MultiPolygon, a, b geometry.Point, from, to, maxGap track.Millis) track.Millis {
	_, last := pathThrough(area, a, b)
	if to-from > maxGap || last < 0 {
		return to
	}
	return from + track.Millis(math.Round(last*float64(to-from))) // rounding is part of the definition
}

// meetingOf returns the shares of a path d and of an edge e at which they meet, if they were
// longer. The edge begins f away from the path. They are nil for parallels.
func meetingOf(dx, dy, ex, ey, fx, fy *big.Rat) (u, v *big.Rat) {
	cross := func(x1, y1, x2, y2 *big.Rat) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).Mul(x1, y2), new(big.Rat).Mul(y1, x2))
	}
	det := cross(dx, dy, ex, ey)
	if det.Sign() == 0 {
		return nil, nil
	}
	return new(big.Rat).Quo(cross(fx, fy, ex, ey), det), new(big.Rat).Quo(cross(fx, fy, dx, dy), det)
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func difference(x, y float64) *big.Rat { return new(big.Rat).Sub(exact(x), exact(y)) }

// quotient returns (a-b) / (c-d).
func quotient(a, b, c, d float64) *big.Rat {
	return new(big.Rat).Quo(difference(a, b), difference(c, d))
}

// pathThrough returns the shares of the path from a to b at which it first and last crosses the
// boundary, -1 if it does not. All points of the path are moved by less than any number to the
// east, and by even less to the north. Two crossings of one part at one place are none, and where
// another part goes on there is no boundary.
func pathThrough(area geometry.MultiPolygon, a, b geometry.Point) (first, last float64) {
	var shares []float64
	for _, polygon := range area {
		crossed := map[float64]int{}
		for _, ring := range polygon {
			for i, p := range ring {
				if u, _, crosses := movedMeeting(a, b, p, ring[(i+1)%len(ring)]); crosses {
					crossed[u]++
				}
			}
		}
		for share, n := range crossed {
			if n%2 == 1 {
				shares = append(shares, share)
			}
		}
	}
	slices.Sort(shares)
	shares = slices.Compact(shares)
	first, last = -1, -1
	for i, share := range shares {
		if len(area) > 1 {
			before, behind := 0.0, 1.0
			if i > 0 {
				before = shares[i-1]
			}
			if i+1 < len(shares) {
				behind = shares[i+1]
			}
			if holds(area, along(a, b, (before+share)/2)) == holds(area, along(a, b, (share+behind)/2)) {
				continue
			}
		}
		if first < 0 {
			first = share
		}
		last = share
	}
	return first, last
}

// along returns the place at a share of a path.
func along(a, b geometry.Point, share float64) geometry.Point {
	return geometry.Point{Lon: a.Lon + share*(b.Lon-a.Lon), Lat: a.Lat + share*(b.Lat-a.Lat)}
}

// The distances that a path is moved by, to the east and to the north.
var (
	tiny   = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 200))
	tinier = new(big.Rat).Mul(tiny, tiny)
)

// movedMeeting returns the shares at which a path meets p-q as it is, and when it is moved, if it
// does when it is moved.
func movedMeeting(a, b, p, q geometry.Point) (share float64, moved *big.Rat, ok bool) {
	if max(p.Lon, q.Lon) < min(a.Lon, b.Lon) || min(p.Lon, q.Lon) > max(a.Lon, b.Lon) ||
		max(p.Lat, q.Lat) < min(a.Lat, b.Lat) || min(p.Lat, q.Lat) > max(a.Lat, b.Lat) {
		return 0, nil, false
	}
	dx, dy := difference(b.Lon, a.Lon), difference(b.Lat, a.Lat)
	ex, ey := difference(q.Lon, p.Lon), difference(q.Lat, p.Lat)
	fx, fy := difference(p.Lon, a.Lon), difference(p.Lat, a.Lat)
	at, _ := meetingOf(dx, dy, ex, ey, fx, fy)
	moved, onEdge := meetingOf(dx, dy, ex, ey, fx.Sub(fx, tiny), fy.Sub(fy, tinier))
	for _, u := range []*big.Rat{moved, onEdge} {
		if u == nil || u.Sign() < 0 || u.Cmp(big.NewRat(1, 1)) > 0 {
			return 0, nil, false
		}
	}
	share, _ = at.Float64()
	return min(max(share, 0), 1), moved, true
}

// tooNear ends a history in which the rounding of a distance would decide.
type tooNear string

// atLeast reports whether a distance is at least a limit. It does not decide when the rounding of
// the distance would.
func atLeast(distance, limit float64) bool {
	if math.Abs(distance-limit) < 1e-5 {
		panic(tooNear(fmt.Sprintf("a distance of %v is too near to the limit %v", distance, limit)))
	}
	return distance > limit
}

// plane is the plane that touches WGS84 at a point, in metres.
type plane struct {
	at          geometry.Point
	east, north float64 // metres per degree
}

func planeAt(p geometry.Point) plane {
	const a, e2 = 6_378_137.0, 0.00669437999014
	sin, cos := math.Sincos(p.Lat * math.Pi / 180)
	w := math.Sqrt(1 - e2*sin*sin)
	return plane{p, a / w * cos * math.Pi / 180, a * (1 - e2) / (w * w * w) * math.Pi / 180}
}

func (p plane) of(q geometry.Point) (x, y float64) {
	return (q.Lon - p.at.Lon) * p.east, (q.Lat - p.at.Lat) * p.north
}

// toEdge is the distance from the place where the plane touches to the nearest place of an edge.
func (p plane) toEdge(a, b geometry.Point) float64 {
	ax, ay := p.of(a)
	bx, by := p.of(b)
	dx, dy := bx-ax, by-ay
	u := min(max(-(ax*dx+ay*dy)/(dx*dx+dy*dy), 0), 1)
	return math.Hypot(ax+u*dx, ay+u*dy)
}

// span is the distance of two places.
func span(a, b geometry.Point) float64 { return math.Hypot(planeAt(a).of(b)) }

// boundaryDistance is the distance from a point to the nearest place of all edges.
func boundaryDistance(area geometry.MultiPolygon, p geometry.Point) float64 {
	plane, nearest := planeAt(p), math.Inf(1)
	for _, polygon := range area {
		for _, ring := range polygon {
			for i := range ring {
				nearest = min(nearest, plane.toEdge(ring[i], ring[(i+1)%len(ring)]))
			}
		}
	}
	return nearest
}

func (f oracleFence) inradius() float64 {
	if f.measured > 0 {
		return f.measured
	}
	return inradiusOf(&f.fence)
}

// squareInradius is the radius of the circle in a square of degrees.
func squareInradius(area geometry.MultiPolygon) float64 {
	ring := area[0][0]
	middle := geometry.Point{Lon: (ring[0].Lon + ring[2].Lon) / 2, Lat: (ring[0].Lat + ring[2].Lat) / 2}
	return boundaryDistance(area, middle)
}
