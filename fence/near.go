package fence

import (
	"math"

	"paddock/fence/geometry"
	"paddock/fence/internal/outline"
)

// Near is a fence near a point, with the signed distance to its boundary in metres: positive if the
// fence holds the point.
type Near = outline.Near

// MostClearance is the Clearance of a set without fences.
const MostClearance = outline.MostClearance

// AppendAlong appends to dst the refs of the fences whose boundary the straight path from a to b
// crosses, and of the lines that it crosses, ascending and without duplicates. The path goes over
// the antimeridian if that is the shorter way; geometry.Path says what it is to cross. So a fence
// that holds only one of the two points is among them. A fence that holds neither is among them if
// the path passes through it, which geometry.MultiPolygon.Passes tells more about.
//
// Crossings follow the half-open rule of the package comment, whatever the set's Boundary. Points
// that are not finite are on no path. It does not allocate if dst has room. The first call
// of this method, AppendNear or Clearance for a set builds an index of boundaries, in about a
// microsecond for ten edges. Changes of the set keep it up to date from then on.
func (s *Snapshot) AppendAlong(dst []Ref, a, b geometry.Point) []Ref {
	w, ok := geometry.NewPath(a, b)
	if !ok {
		return dst
	}
	return s.outline.Get().AppendAlong(dst, w)
}

// AppendNear appends to dst the fences that hold the point or are at most so many metres from it,
// and no more of them than most: first the fences that hold it, then the nearest, and by ref where
// distances are equal. metres may be +Inf. lon, lat in degrees WGS84; for a point that is not
// finite there are none.
func (s *Snapshot) AppendNear(dst []Near, lon, lat, metres float64, most int) []Near {
	p, ok := geometry.Normalize(lon, lat)
	if !ok || most <= 0 || math.IsNaN(metres) {
		return dst
	}
	return s.outline.Get().AppendNear(dst, p, metres, most, s.Append(nil, lon, lat))
}

// Clearance returns a lower bound, in metres, of the distance from a point to the nearest boundary
// or line. As long as an object has moved less than that since it was at lon, lat, its answers are
// the same and it has crossed nothing. It costs some nanoseconds, and is 0 where there is no better
// bound: near boundaries, and for a point that is not finite.
func (s *Snapshot) Clearance(lon, lat float64) float64 {
	p, ok := geometry.Normalize(lon, lat)
	if !ok {
		return 0
	}
	return s.outline.Get().Clearance(p)
}

// Within returns the distance in metres from a point to the boundary of the fence of r, or most
// if it is at least that far away. It looks at the edges near the point alone, so it takes about
// a microsecond however many the fence has. For a deleted fence, and for a point that is not
// finite, it is most.
func (s *Snapshot) Within(r Ref, lon, lat, most float64) float64 {
	p, ok := geometry.Normalize(lon, lat)
	e := s.table.Get(r)
	if !ok || e == nil || math.IsNaN(most) {
		return most
	}
	return s.outline.Get().Within(e, p, most)
}

// Passes returns the shares of the path from a to b at which it first and last crosses the boundary
// of the fence of r, if it does: see geometry.MultiPolygon.Passes. ok is false for a deleted fence.
// It does not allocate.
func (s *Snapshot) Passes(r Ref, a, b geometry.Point) (first, last float64, ok bool) {
	e := s.table.Get(r)
	w, finite := geometry.NewPath(a, b)
	if e == nil || !finite {
		return 0, 0, false
	}
	return outline.Passes(e, &w)
}
