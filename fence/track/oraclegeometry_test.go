package track_test

import (
	"fmt"
	"math"
	"math/big"

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
	if to-from > maxGap || max(a.Lon, b.Lon)-min(a.Lon, b.Lon) > 180 {
		return to
	}
	var last *big.Rat
	for _, polygon := range area {
		for _, ring := range polygon {
			for i, p := range ring {
				q := ring[(i+1)%len(ring)]
				if u := meeting(a, b, p, q); u != nil && (last == nil || u.Cmp(last) > 0) {
					last = u
				}
			}
		}
	}
	if last == nil {
		return to
	}
	share, _ := last.Float64() // rounding is part of the definition
	return from + track.Millis(math.Round(share*float64(to-from)))
}

// meeting returns the share of a-b at which it meets p-q; nil if it does not, or is parallel.
func meeting(a, b, p, q geometry.Point) *big.Rat {
	if max(p.Lon, q.Lon) < min(a.Lon, b.Lon) || min(p.Lon, q.Lon) > max(a.Lon, b.Lon) ||
		max(p.Lat, q.Lat) < min(a.Lat, b.Lat) || min(p.Lat, q.Lat) > max(a.Lat, b.Lat) {
		return nil
	}
	return meetingOf(difference(b.Lon, a.Lon), difference(b.Lat, a.Lat), difference(q.Lon, p.Lon), difference(q.Lat, p.Lat),
		difference(p.Lon, a.Lon), difference(p.Lat, a.Lat))
}

// meetingOf is meeting for a path d and an edge e that begins f away from the path.
func meetingOf(dx, dy, ex, ey, fx, fy *big.Rat) *big.Rat {
	cross := func(x1, y1, x2, y2 *big.Rat) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).Mul(x1, y2), new(big.Rat).Mul(y1, x2))
	}
	det := cross(dx, dy, ex, ey)
	if det.Sign() == 0 {
		return nil
	}
	u := new(big.Rat).Quo(cross(fx, fy, ex, ey), det)
	v := new(big.Rat).Quo(cross(fx, fy, dx, dy), det)
	for _, share := range []*big.Rat{u, v} {
		if share.Sign() < 0 || share.Cmp(big.NewRat(1, 1)) > 0 {
			return nil
		}
	}
	return u
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func difference(x, y float64) *big.Rat { return new(big.Rat).Sub(exact(x), exact(y)) }

// quotient returns (a-b) / (c-d).
func quotient(a, b, c, d float64) *big.Rat {
	return new(big.Rat).Quo(difference(a, b), difference(c, d))
}

// pathThrough returns the shares of the path from a to b at which it first and last crosses the
// boundary, -1 if it does not. All points of the path are moved by less than any number to the
// east, and by even less to the north.
func pathThrough(area geometry.MultiPolygon, a, b geometry.Point) (first, last float64) {
	tiny := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 200))
	tinier := new(big.Rat).Mul(tiny, tiny)
	first, last = -1, -1
	for _, polygon := range area {
		for _, ring := range polygon {
			for i, p := range ring {
				u := movedMeeting(a, b, p, ring[(i+1)%len(ring)], tiny, tinier)
				if u == nil {
					continue
				}
				share, _ := u.Float64()
				share = min(max(share, 0), 1)
				if first < 0 || share < first {
					first = share
				}
				last = max(last, share)
			}
		}
	}
	return first, last
}

// movedMeeting is meeting for a path that is moved.
func movedMeeting(a, b, p, q geometry.Point, east, north *big.Rat) *big.Rat {
	if max(p.Lon, q.Lon) < min(a.Lon, b.Lon) || min(p.Lon, q.Lon) > max(a.Lon, b.Lon) ||
		max(p.Lat, q.Lat) < min(a.Lat, b.Lat) || min(p.Lat, q.Lat) > max(a.Lat, b.Lat) {
		return nil
	}
	fx, fy := difference(p.Lon, a.Lon), difference(p.Lat, a.Lat)
	return meetingOf(difference(b.Lon, a.Lon), difference(b.Lat, a.Lat), difference(q.Lon, p.Lon), difference(q.Lat, p.Lat),
		fx.Sub(fx, east), fy.Sub(fy, north))
}

// atLeast reports whether a distance is at least a limit. It does not decide when the rounding of
// the distance would.
func atLeast(distance, limit float64) bool {
	if math.Abs(distance-limit) < 1e-5 {
		panic(fmt.Sprintf("a distance of %v is too near to the limit %v: draw other numbers", distance, limit))
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

// span is the distance of two places.
func span(a, b geometry.Point) float64 { return math.Hypot(planeAt(a).of(b)) }

// boundaryDistance is the distance from a point to the nearest place of all edges.
func boundaryDistance(area geometry.MultiPolygon, p geometry.Point) float64 {
	plane, nearest := planeAt(p), math.Inf(1)
	for _, polygon := range area {
		for _, ring := range polygon {
			for i := range ring {
				ax, ay := plane.of(ring[i])
				bx, by := plane.of(ring[(i+1)%len(ring)])
				dx, dy := bx-ax, by-ay
				u := min(max(-(ax*dx+ay*dy)/(dx*dx+dy*dy), 0), 1)
				nearest = min(nearest, math.Hypot(ax+u*dx, ay+u*dy))
			}
		}
	}
	return nearest
}

func (f oracleFence) inradius() float64 {
	if f.measured > 0 {
		return f.measured
	}
	return squareInradius(f.fence.Geometry)
}

// squareInradius is the radius of the circle in a square of degrees.
func squareInradius(area geometry.MultiPolygon) float64 {
	ring := area[0][0]
	middle := geometry.Point{Lon: (ring[0].Lon + ring[2].Lon) / 2, Lat: (ring[0].Lat + ring[2].Lat) / 2}
	return boundaryDistance(area, middle)
}
