package fence_test

import (
	"math"
	"math/big"
	"math/rand/v2"

	"paddock/fence/geometry"
)

// oracleHolds decides by exact rationals where an edge meets the parallel of p, independently
// of the product's predicate.
func oracleHolds(mp geometry.MultiPolygon, p geometry.Point) bool {
	if math.IsNaN(p.Lon-p.Lon) || math.IsNaN(p.Lat-p.Lat) {
		return false
	}
	if p.Lon == 180 {
		p.Lon = -180
	}
	for _, part := range mp {
		n := 0
		for _, ring := range part {
			for i := range ring {
				if eastOf(ring[i], ring[(i+1)%len(ring)], p) {
					n++
				}
			}
		}
		if n%2 == 1 {
			return true
		}
	}
	return false
}

// eastOf reports whether the edge meets the parallel of p strictly to the east of p.
func eastOf(a, b, p geometry.Point) bool {
	if b.Lat < a.Lat {
		a, b = b, a
	}
	if p.Lat < a.Lat || p.Lat >= b.Lat {
		return false
	}
	if p.Lon < min(a.Lon, b.Lon) || p.Lon >= max(a.Lon, b.Lon) {
		return p.Lon < min(a.Lon, b.Lon)
	}
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	t := new(big.Rat).Sub(rat(p.Lat), rat(a.Lat))
	t.Quo(t, new(big.Rat).Sub(rat(b.Lat), rat(a.Lat)))
	t.Mul(t, new(big.Rat).Sub(rat(b.Lon), rat(a.Lon)))
	return rat(p.Lon).Cmp(t.Add(t, rat(a.Lon))) < 0
}

// ulps moves x by n representable values.
func ulps(x float64, n int) float64 {
	to := math.Inf(1)
	if n < 0 {
		to, n = math.Inf(-1), -n
	}
	for range n {
		x = math.Nextafter(x, to)
	}
	return x
}

// hardPoints gives points at which float64 is most likely to err: on and beside vertices and
// edges, and level with them.
func hardPoints(rng *rand.Rand, mp geometry.MultiPolygon) []geometry.Point {
	var at []geometry.Point
	for _, part := range mp {
		for _, ring := range part {
			for i, a := range ring {
				b, c := ring[(i+1)%len(ring)], ring[rng.IntN(len(ring))]
				s := rng.Float64()
				at = append(
					at, a,
					geometry.Point{Lon: (a.Lon + b.Lon) / 2, Lat: (a.Lat + b.Lat) / 2},
					geometry.Point{Lon: a.Lon + s*(b.Lon-a.Lon), Lat: a.Lat + s*(b.Lat-a.Lat)},
					geometry.Point{Lon: a.Lon, Lat: c.Lat},
					geometry.Point{Lon: c.Lon, Lat: a.Lat},
				)
			}
		}
	}
	for _, p := range at {
		at = append(at, geometry.Point{Lon: ulps(p.Lon, rng.IntN(9)-4), Lat: ulps(p.Lat, rng.IntN(9)-4)})
	}
	return at
}

// some gives at most n of the points, or of whatever it is given.
func some[T any](rng *rand.Rand, points []T, n int) []T {
	rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	return points[:min(n, len(points))]
}

// randomRing gives a ring of n vertices, invalid more often than not. The coarser the grid,
// the more edges are level, collinear or equal.
func randomRing(rng *rand.Rand, n int, grid float64) geometry.Ring {
	r := make(geometry.Ring, n)
	cx, cy := rng.Float64()*40-20, rng.Float64()*40-20
	for i := range r {
		x, y := cx+rng.Float64()*10, cy+rng.Float64()*10
		if grid > 0 {
			x, y = math.Round(x/grid)*grid, math.Round(y/grid)*grid
		}
		r[i] = geometry.Point{Lon: x, Lat: y}
	}
	return r
}

func randomArea(rng *rand.Rand) geometry.MultiPolygon {
	grid := []float64{0, 1, 0.1, 2.5}[rng.IntN(4)]
	mp := make(geometry.MultiPolygon, 1+rng.IntN(3))
	for i := range mp {
		for range 1 + rng.IntN(3) {
			n := 3 + rng.IntN(8)
			if rng.IntN(6) == 0 {
				n *= 10
			}
			mp[i] = append(mp[i], randomRing(rng, n, grid))
		}
	}
	return mp
}

// oracleHoldsBy decides by exact rationals under a boundary rule.
func oracleHoldsBy(b geometry.Boundary, mp geometry.MultiPolygon, p geometry.Point) bool {
	if b == geometry.BoundaryHalfOpen {
		return oracleHolds(mp, p)
	}
	at := []geometry.Point{p}
	if math.Abs(p.Lon) == 180 {
		at = []geometry.Point{{Lon: -180, Lat: p.Lat}, {Lon: 180, Lat: p.Lat}}
	}
	for _, part := range mp {
		on := false
		for _, p := range at {
			on = on || oracleOnEdge(part, p)
		}
		if b == geometry.BoundaryClosed && on || !on && oracleHolds(geometry.MultiPolygon{part}, p) {
			return true
		}
	}
	return false
}

// oracleOnEdge reports whether p is on an edge of the part.
func oracleOnEdge(part geometry.Polygon, p geometry.Point) bool {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	for _, r := range part {
		for i, a := range r {
			b := r[(i+1)%len(r)]
			if p.Lon < min(a.Lon, b.Lon) || p.Lon > max(a.Lon, b.Lon) || p.Lat < min(a.Lat, b.Lat) || p.Lat > max(a.Lat, b.Lat) {
				continue
			}
			x := new(big.Rat).Mul(new(big.Rat).Sub(rat(b.Lon), rat(a.Lon)), new(big.Rat).Sub(rat(p.Lat), rat(a.Lat)))
			y := new(big.Rat).Mul(new(big.Rat).Sub(rat(b.Lat), rat(a.Lat)), new(big.Rat).Sub(rat(p.Lon), rat(a.Lon)))
			if x.Cmp(y) == 0 {
				return true
			}
		}
	}
	return false
}
