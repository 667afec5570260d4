package track

import (
	"math"

	"paddock/fence"
	"paddock/fence/geometry"
)

// crossingTime dates the change of membership between two fixes: the last
// crossing of the straight path a -> b with the fence's boundary, interpolated
// between their times. From that instant on the new state holds without
// interruption, and at a border that two fences share, leaving one and entering
// the other get the same instant.
//
// Where the path says nothing (no edge is crossed because the rounding of
// the two ends decides, a step over the antimeridian, a silence longer than
// maxGap) it is the second fix's time.
func crossingTime(s *fence.Snapshot, ref fence.Ref, a, b geometry.Point, from, to, maxGap Millis) Millis {
	if to-from > maxGap || math.Abs(b.Lon-a.Lon) > 180 {
		return to
	}
	last := -1.0
	box := geometry.Box{
		MinLon: min(a.Lon, b.Lon), MaxLon: max(a.Lon, b.Lon), MinLat: min(a.Lat, b.Lat), MaxLat: max(a.Lat, b.Lat),
	}
	s.Edges(ref, box, func(p, q geometry.Point) {
		if isApart(&box, p, q) {
			return
		}
		if u, ok := meet(a, b, p, q); ok && u > last {
			last = u
		}
	})
	if last < 0 {
		return to
	}
	return from + Millis(math.Round(float64(last*float64(to-from))))
}

// isApart reports whether the edge p-q is on one side of a box.
func isApart(box *geometry.Box, p, q geometry.Point) bool {
	return p.Lat < box.MinLat && q.Lat < box.MinLat || p.Lat > box.MaxLat && q.Lat > box.MaxLat ||
		p.Lon < box.MinLon && q.Lon < box.MinLon || p.Lon > box.MaxLon && q.Lon > box.MaxLon
}

// meet returns where the segment a -> b meets p -> q, as the share of a -> b, 0
// to 1. Parallel segments do not meet. Products are rounded one by one, so that
// every CPU gives the same share.
func meet(a, b, p, q geometry.Point) (float64, bool) {
	dx, dy := b.Lon-a.Lon, b.Lat-a.Lat
	ex, ey := q.Lon-p.Lon, q.Lat-p.Lat
	den := float64(dx*ey) - float64(dy*ex)
	if den == 0 {
		return 0, false
	}
	fx, fy := p.Lon-a.Lon, p.Lat-a.Lat
	u := (float64(fx*ey) - float64(fy*ex)) / den
	v := (float64(fx*dy) - float64(fy*dx)) / den
	return u, u >= 0 && u <= 1 && v >= 0 && v <= 1
}
