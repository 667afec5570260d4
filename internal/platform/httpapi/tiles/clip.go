package tiles

import (
	"math"
	"slices"

	"paddock/fence/geometry"
)

// beyond returns the sides of a box beyond which a point lies, a bit for each.
func beyond(b geometry.Box, p geometry.Point) (sides uint8) {
	if p.Lon < b.MinLon {
		sides |= 1
	}
	if p.Lon > b.MaxLon {
		sides |= 2
	}
	if p.Lat < b.MinLat {
		sides |= 4
	}
	if p.Lat > b.MaxLat {
		sides |= 8
	}
	return sides
}

// near projects a ring, and drops most vertices far from the tile: a vertex has no effect within
// the box if it and both of its neighbours lie beyond the same side. So a long ring costs little if
// only a small part of it is in the tile.
func (t Tile) near(dst []vertex, r geometry.Ring, box geometry.Box) []vertex {
	before, at := beyond(box, r[len(r)-1]), beyond(box, r[0])
	last, lastPlace := r[len(r)-1], t.project(r[len(r)-1])
	for i, p := range r {
		next := beyond(box, r[(i+1)%len(r)])
		// The first and the last vertex are kept, as neighbours of the others.
		if before&at&next == 0 || i == 0 || i == len(r)-1 {
			place := t.project(p)
			if before&at == 0 {
				dst = t.bend(dst, last, p, lastPlace, place, box)
			}
			dst = append(dst, place)
			before, last, lastPlace = at, p, place
		}
		at = next
	}
	return dst
}

// maxBends bounds the vertices that are inserted into one edge within the box.
const maxBends = 256

// bend inserts vertices into the edge from a to b, which are at u and v on the map. The edge is
// straight in degrees and curved on the map. With the vertices it is drawn within a unit of its
// place in the box, as far as maxBends allows. Without them an edge of half a degree would be off
// by 40 m in Berlin. Outside the box, vertices where the edge meets the lines of its sides are
// enough: a piece beyond a side in degrees is beyond that side on the map too.
func (t Tile) bend(dst []vertex, a, b geometry.Point, u, v vertex, box geometry.Box) []vertex {
	if t.pieces(a, b, u, v) == 1 {
		return dst
	}
	at := func(f float64) geometry.Point {
		return geometry.Point{Lon: a.Lon + (b.Lon-a.Lon)*f, Lat: a.Lat + (b.Lat-a.Lat)*f}
	}
	cuts := [5]float64{
		(box.MinLon - a.Lon) / (b.Lon - a.Lon), (box.MaxLon - a.Lon) / (b.Lon - a.Lon),
		(box.MinLat - a.Lat) / (b.Lat - a.Lat), (box.MaxLat - a.Lat) / (b.Lat - a.Lat), 1,
	}
	slices.Sort(cuts[:])
	from, start := 0.0, u
	for _, to := range cuts {
		if !(to > from && to <= 1) {
			continue
		}
		end := v
		if to < 1 {
			end = t.project(at(to))
		}
		if beyond(box, at((from+to)/2)) == 0 {
			n := t.pieces(at(from), at(to), start, end)
			for k := 1; k < n; k++ {
				dst = append(dst, t.project(at(from+(to-from)*float64(k)/float64(n))))
			}
		}
		if to < 1 {
			dst = append(dst, end)
		}
		from, start = to, end
	}
	return dst
}

// pieces returns the number of pieces of an edge a-b, at u and v, that are straight within a unit.
func (t Tile) pieces(a, b geometry.Point, u, v vertex) int {
	// The sagitta is at most pi/4 dy^2 / units.
	if dy := v.y - u.y; dy*dy < t.units() {
		return 1
	}
	off2 := toSegment2(t.project(geometry.Point{Lon: (a.Lon + b.Lon) / 2, Lat: (a.Lat + b.Lat) / 2}), u, v)
	if !(off2 > 1) {
		return 1
	}
	// The distance falls with the square of the number of pieces.
	return min(maxBends, int(math.Ceil(math.Sqrt(math.Sqrt(off2)))))
}

// clip cuts a ring to the tile and its buffer, one side after the other (Sutherland and Hodgman).
// Where the ring leaves and returns, it runs along the edge of the buffer, which is invisible. clip
// returns the result, and spare memory for the next ring.
func clip(ring, spare []vertex) (cut, other []vertex) {
	const low, high = -buffer, Extent + buffer
	for side := range 4 {
		spare = spare[:0]
		for i, b := range ring {
			a := ring[(i+len(ring)-1)%len(ring)]
			if inside(side, a, low, high) != inside(side, b, low, high) {
				spare = append(spare, crossing(side, a, b, low, high))
			}
			if inside(side, b, low, high) {
				spare = append(spare, b)
			}
		}
		ring, spare = spare, ring
	}
	return ring, spare
}

func inside(side int, v vertex, low, high float64) bool {
	switch side {
	case 0:
		return v.x >= low
	case 1:
		return v.x <= high
	case 2:
		return v.y >= low
	default:
		return v.y <= high
	}
}

// crossing returns the point where the edge from a to b meets the line of a side.
func crossing(side int, a, b vertex, low, high float64) vertex {
	line := low
	if side%2 == 1 {
		line = high
	}
	if side < 2 {
		return vertex{line, a.y + (b.y-a.y)*(line-a.x)/(b.x-a.x)}
	}
	return vertex{a.x + (b.x-a.x)*(line-a.y)/(b.y-a.y), line}
}
