package geometry

import (
	"cmp"
	"math"
	"slices"
)

// Path is the straight way from one point to another. It goes over the antimeridian if that is the
// shorter way round.
//
// A path crosses an edge as if all its points were moved by (e, e^2) degrees, for an e that is less
// than any number: to the east, and even less to the north. The rule of the package comment moves
// points alike. So a path between a point in an area and one outside of it crosses the boundary an
// odd number of times, and of two paths of which the second begins where the first ends exactly one
// crosses a line that goes through that point, or none if they turn back. Crossings and their order
// are decided exactly, except for the rounding of longitudes on a path over the antimeridian, which
// are taken from there.
type Path struct {
	from Point // as it was given
	a, b Point
	over bool // coordinates are from the antimeridian
	box  Box
}

// NewPath returns the path from a to b; false if a or b is not finite.
func NewPath(a, b Point) (Path, bool) {
	a, ok := Normalize(a.Lon, a.Lat)
	b, ok2 := Normalize(b.Lon, b.Lat)
	w := Path{from: a, a: a, b: b, over: math.Abs(b.Lon-a.Lon) > 180}
	if w.over {
		w.a.Lon, w.b.Lon = fromAntimeridian(a.Lon), fromAntimeridian(b.Lon)
	}
	w.box = EmptyBox().extend(w.a).extend(w.b)
	return w, ok && ok2
}

// fromAntimeridian is the longitude from the antimeridian. It is exact from 90 degrees on.
func fromAntimeridian(lon float64) float64 {
	if lon > 0 {
		return lon - 180
	}
	return lon + 180
}

// Over reports whether the path goes over the antimeridian.
func (w *Path) Over() bool { return w.over }

// Boxes returns the box around the path, or its two halves if it goes over the antimeridian; else
// the second is Empty. A path that is no more than a point over has a half without an extent.
func (w *Path) Boxes() [2]Box {
	if !w.over {
		return [2]Box{w.box, EmptyBox()}
	}
	west, east := w.box, w.box
	west.MinLon, west.MaxLon = w.box.MinLon+180, 180
	east.MinLon, east.MaxLon = -180, w.box.MaxLon-180
	return [2]Box{west, east}
}

// Crossing is a place at which a path crosses a line.
type Crossing struct {
	Share  float64 // of the path, from 0 at its beginning to 1 at its end
	ToLeft bool    // from the line's right side to its left side, as seen along the line
}

// Cross returns where the path crosses the edge p-q, if it does.
func (w *Path) Cross(p, q Point) (Crossing, bool) {
	if !w.over {
		return w.cross(p, q)
	}
	if c, ok := w.cross(Point{p.Lon - 180, p.Lat}, Point{q.Lon - 180, q.Lat}); ok {
		return c, true
	}
	return w.cross(Point{p.Lon + 180, p.Lat}, Point{q.Lon + 180, q.Lat})
}

func (w *Path) cross(p, q Point) (Crossing, bool) {
	if w.beside(p, q) || !w.meets(p, q) {
		return Crossing{}, false
	}
	return Crossing{w.share(p, q), moved(p, q, w.b)}, true
}

// Meets reports whether the path crosses the edge p-q.
func (w *Path) Meets(p, q Point) bool {
	if w.over {
		_, ok := w.Cross(p, q)
		return ok
	}
	return !w.beside(p, q) && w.meets(p, q)
}

// beside reports whether the edge is all on one side of the box around the path.
func (w *Path) beside(p, q Point) bool {
	b := &w.box
	return p.Lon < b.MinLon && q.Lon < b.MinLon || p.Lon > b.MaxLon && q.Lon > b.MaxLon ||
		p.Lat < b.MinLat && q.Lat < b.MinLat || p.Lat > b.MaxLat && q.Lat > b.MaxLat
}

// meets is Meets by the exact predicate.
func (w *Path) meets(p, q Point) bool {
	return moved(p, q, w.a) != moved(p, q, w.b) && w.between(p, q)
}

// moved reports whether c, moved as Path says, is to the left of p -> q.
func moved(p, q, c Point) bool {
	switch o := Orient(p, q, c); {
	case o != 0:
		return o > 0
	case p.Lat != q.Lat:
		return q.Lat < p.Lat
	}
	return q.Lon > p.Lon
}

// between reports whether p and q are on different sides of the moved path.
func (w *Path) between(p, q Point) bool { return w.left(p) != w.left(q) }

// left reports whether c is to the left of the moved path.
func (w *Path) left(c Point) bool {
	switch o := Orient(w.a, w.b, c); {
	case o != 0:
		return o > 0
	case w.a.Lat != w.b.Lat:
		return w.b.Lat > w.a.Lat
	}
	return w.b.Lon < w.a.Lon
}

// share returns the share of the path at which it is on the line through p and q. It is the same in
// either direction of the edge, and for all edges on one meridian. Products are rounded one by one,
// so that it is the same on every processor.
func (w *Path) share(p, q Point) float64 {
	dx, dy := w.b.Lon-w.a.Lon, w.b.Lat-w.a.Lat
	if p.Lon == q.Lon && dx != 0 {
		return clamp((p.Lon - w.a.Lon) / dx)
	}
	if p.Lon > q.Lon || p.Lon == q.Lon && p.Lat > q.Lat {
		p, q = q, p
	}
	ex, ey := q.Lon-p.Lon, q.Lat-p.Lat
	det := float64(dx*ey) - float64(dy*ex)
	if det == 0 { // they are parallel but for rounding
		return 1
	}
	fx, fy := p.Lon-w.a.Lon, p.Lat-w.a.Lat
	return clamp((float64(fx*ey) - float64(fy*ex)) / det)
}

// AppendCrossings appends the places at which the path from a to b crosses the line, in their order
// on the path.
func (l Line) AppendCrossings(dst []Crossing, a, b Point) []Crossing {
	return MultiLine{l}.AppendCrossings(dst, a, b)
}

// AppendCrossings appends the places at which the path from a to b crosses one of the lines, in
// their order on the path. That is the order on the moved path, see Path, so crossings at a vertex
// or where edges cross have one too. Those of edges that lie on each other are in the lines' order.
func (ml MultiLine) AppendCrossings(dst []Crossing, a, b Point) []Crossing {
	w, ok := NewPath(a, b)
	if !ok {
		return dst
	}
	var few [16]meeting
	all := few[:0]
	for _, l := range ml {
		for i := range l.Edges() {
			p, q := l.Edge(i)
			if c, ok := w.Cross(p, q); ok {
				all = append(all, meeting{c, p, q})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y meeting) int { return w.compare(&x, &y) })
	for i := range all {
		dst = append(dst, all[i].Crossing)
	}
	return dst
}

// Passes returns the shares of the path from a to b at which it first and last crosses the boundary
// of the area, if it does. The boundary is that of the union: where the area goes on in another
// part, or over the antimeridian, there is none. A path that only touches the area does not cross
// it.
func (mp MultiPolygon) Passes(a, b Point) (first, last float64, ok bool) {
	w, finite := NewPath(a, b)
	if !finite {
		return 0, 0, false
	}
	return w.Passes(mp)
}

// Crosses reports whether the path crosses one of the lines.
func (w *Path) Crosses(ml MultiLine) bool {
	for _, l := range ml {
		for i := range l.Edges() {
			if w.Meets(l.Edge(i)) {
				return true
			}
		}
	}
	return false
}

// Passes is MultiPolygon.Passes.
func (w *Path) Passes(mp MultiPolygon) (first, last float64, ok bool) { return w.PassesParts(mp, nil) }

// PassesParts is Passes, given the boxes around all parts, which spare a look at most parts of an
// area of many.
func (w *Path) PassesParts(mp MultiPolygon, boxes []Box) (first, last float64, ok bool) {
	var few [16]Cut
	turns, held := few[:0], 0
	around := w.Boxes()
	for i, part := range mp {
		if boxes != nil && !boxes[i].Intersects(around[0]) && !boxes[i].Intersects(around[1]) {
			continue
		}
		from := len(turns)
		turns = cancelled(w.turns(turns, part), from)
		if len(mp) == 1 {
			break
		}
		if !part.holds(w.from) {
			into(turns[from:], 1)
			continue
		}
		held++
		if len(turns) == from { // all of the path is within
			return 0, 0, false
		}
		into(turns[from:], -1)
	}
	if len(turns) > 0 && len(mp) == 1 {
		return turns[0].share, turns[len(turns)-1].share, true
	}
	return union(turns, held)
}

// Cut is a crossing of the boundary of a part.
type Cut struct {
	share float64
	into  int // 1 goes in, -1 goes out
}

func byShare(x, y Cut) int {
	// At one place the path comes into one part before it leaves another.
	return cmp.Or(cmp.Compare(x.share, y.share), cmp.Compare(y.into, x.into))
}

// turns appends the crossings of a part's edges.
func (w *Path) turns(dst []Cut, pg Polygon) []Cut {
	for _, r := range pg {
		if len(r) == 0 {
			continue
		}
		a := r[len(r)-1]
		for _, b := range r {
			dst = w.AppendCut(dst, a, b)
			a = b
		}
	}
	return dst
}

// AppendCut appends the crossing of the edge p-q, if there is one.
func (w *Path) AppendCut(dst []Cut, p, q Point) []Cut {
	if c, ok := w.Cross(p, q); ok {
		dst = append(dst, Cut{share: c.Share})
	}
	return dst
}

// Ends is Passes for an area of one part, given the crossings of all its edges, which it sorts.
func Ends(cuts []Cut) (first, last float64, ok bool) {
	if cuts = cancelled(cuts, 0); len(cuts) == 0 {
		return 0, 0, false
	}
	return cuts[0].share, cuts[len(cuts)-1].share, true
}

// cancelled sorts turns[from:] and takes out pairs at one place, such as those of a spike.
func cancelled(turns []Cut, from int) []Cut {
	slices.SortFunc(turns[from:], byShare)
	kept := turns[:from]
	for _, t := range turns[from:] {
		if n := len(kept); n > from && kept[n-1].share == t.share {
			kept = kept[:n-1]
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// into gives the turns of a part their directions, which alternate.
func into(turns []Cut, first int) {
	for i := range turns {
		turns[i].into = first
		first = -first
	}
}

// union returns the first and the last of the turns at which the path leaves all parts, or comes
// from none, given the number of parts that it begins in.
func union(turns []Cut, held int) (first, last float64, ok bool) {
	slices.SortFunc(turns, byShare)
	for _, t := range turns {
		before := held
		held += t.into
		if before != 0 && held != 0 {
			continue
		}
		if !ok {
			first = t.share
		}
		last, ok = t.share, true
	}
	return first, last, ok
}
