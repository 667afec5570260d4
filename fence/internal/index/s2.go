package index

import (
	"math"

	"github.com/golang/geo/s2"

	"paddock/fence/geometry"
)

// NewS2Writer lists each part in the S2 cells of a covering: whole cells in which there is nothing
// to test, and cells on its boundary. A cell's sides are geodesic and its corners come from
// trigonometry, so nothing is decided by them: all is, in longitude and latitude, by boxes
// that are larger than the cells.
func NewS2Writer(o Options) Writer {
	coverer, covering := s2Coverer{zoom: o.Zoom}, []s2Covered(nil)
	return &quadWriter[items]{quadSettings: quadSettings{
		kind: o.Kind, rule: o.Rule,
		locate: func(p geometry.Point) (root int, code uint64) {
			if math.Abs(p.Lon) > 180 || math.Abs(p.Lat) > 90 {
				return nowhere, 0
			}
			id := s2.CellIDFromLatLng(s2.LatLngFromDegrees(p.Lat, p.Lon))
			return id.Face(), uint64(id)
		},
		cover: func(e *Entry, add func(cell, uint32, bool)) {
			covering = coverer.cover(covering[:0], e)
			for _, c := range covering {
				add(c.cell(), c.part, c.inside)
			}
		},
	}}
}

// s2Covered is a cell of a covering.
type s2Covered struct {
	id     s2.CellID
	part   uint32
	inside bool
}

func (c s2Covered) cell() cell { return cell{c.id.Face(), uint64(c.id), c.id.Level()} }

// s2Pad in degrees, a tenth of a metre, is far more than the rounding of all that lies between
// a point and its cell. That is a few 1e-16 rad on the sphere; in longitude it grows towards
// the poles, but at the side of a cell of maxZoom that is not at the pole itself, 1e-7 rad from
// it, to no more than some 3e-7 degrees; and cells at the pole are bounded by all longitudes.
const s2Pad = 1e-6

// s2Coverer makes coverings of the cells down to a level. It keeps its memory.
type s2Coverer struct {
	zoom int
	now  s2Level
	next s2Level
}

// s2Level has the cells of a level that edges meet.
type s2Level struct {
	cells []s2Open
	edges []s2Edge
}

// s2Open is a cell with the edges of the part that meet its bound: edges[from:to] of its level.
type s2Open struct {
	id       s2.CellID
	part     uint32
	from, to int
}

type s2Edge struct{ a, b geometry.Point }

// cover appends a covering of the entry to dst. It divides the cells that edges meet, level by
// level, down to zoom or to the level below which the covering would have over maxCells cells.
// A cell whose bound no edge meets is inside or outside as a whole, and one point of the bound
// tells. The same entry always has the same covering.
func (c *s2Coverer) cover(dst []s2Covered, e *Entry) []s2Covered {
	from := len(dst)
	c.now.reset()
	for i := range e.Fence.Geometry {
		dst = c.faces(dst, e, i)
	}
	for level := 0; level < c.zoom; level++ {
		finer, fits := c.divide(dst, e, from)
		if !fits {
			break
		}
		dst = finer
		c.now, c.next = c.next, c.now
	}
	for _, o := range c.now.cells {
		dst = append(dst, s2Covered{id: o.id, part: o.part})
	}
	return dst
}

// divide makes the next level: dst gets those of its cells that are inside. It reports false as
// soon as the covering, which begins at dst[from], would have too many cells.
func (c *s2Coverer) divide(dst []s2Covered, e *Entry, from int) (finer []s2Covered, fits bool) {
	c.next.reset()
	most := max(maxCells, len(c.now.cells))
	for _, o := range c.now.cells {
		for _, id := range o.id.Children() {
			dst = c.next.sort(dst, e, o.part, id, c.now.edges[o.from:o.to])
		}
		if len(dst)-from+len(c.next.cells) > most {
			return nil, false
		}
	}
	return dst, true
}

// faces begins with the cells of level 0.
func (c *s2Coverer) faces(dst []s2Covered, e *Entry, part int) []s2Covered {
	var edges []s2Edge
	for _, r := range e.Fence.Geometry[part] {
		for i, b := range r {
			edges = append(edges, s2Edge{r[(i+len(r)-1)%len(r)], b})
		}
	}
	for face := range 6 {
		dst = c.now.sort(dst, e, uint32(part), s2.CellIDFromFace(face), edges)
	}
	return dst
}

func (l *s2Level) reset() { l.cells, l.edges = l.cells[:0], l.edges[:0] }

// sort puts the cell into the level if edges meet its bound, else into dst if it is inside.
func (l *s2Level) sort(dst []s2Covered, e *Entry, part uint32, id s2.CellID, edges []s2Edge) []s2Covered {
	bound := s2BoundOf(id)
	from := len(l.edges)
	for _, ed := range edges {
		if bound.meets(ed) {
			l.edges = append(l.edges, ed)
		}
	}
	if len(l.edges) > from {
		l.cells = append(l.cells, s2Open{id, part, from, len(l.edges)})
		return dst
	}
	inside := 0
	for _, b := range bound.boxes[:bound.n] {
		if e.parts[part].Decide(geometry.HalfOpen, geometry.Point{Lon: (b.MinLon + b.MaxLon) / 2, Lat: (b.MinLat + b.MaxLat) / 2}) {
			inside++
		}
	}
	switch {
	case inside == bound.n:
		dst = append(dst, s2Covered{id, part, true})
	case inside > 0: // on either side of the antimeridian another
		l.cells = append(l.cells, s2Open{id, part, from, from})
	}
	return dst
}

// s2Bound is a closed area in longitude and latitude that surely has the cell in it: one
// box, or two if it is over the antimeridian.
type s2Bound struct {
	n     int
	boxes [2]geometry.Box
}

func s2BoundOf(id s2.CellID) s2Bound {
	r := s2.CellFromCellID(id).RectBound()
	const degrees = 180 / math.Pi
	b := geometry.Box{
		MinLon: r.Lng.Lo*degrees - s2Pad, MaxLon: r.Lng.Hi*degrees + s2Pad,
		MinLat: r.Lat.Lo*degrees - s2Pad, MaxLat: r.Lat.Hi*degrees + s2Pad,
	}
	if r.Lng.IsFull() {
		b.MinLon, b.MaxLon = -180, 180
		return s2Bound{1, [2]geometry.Box{b}}
	}
	if r.Lng.IsInverted() {
		b.MaxLon += 360
	}
	bound := s2Bound{1, [2]geometry.Box{b}}
	switch {
	case b.MaxLon-b.MinLon >= 360:
		bound.boxes[0].MinLon, bound.boxes[0].MaxLon = -180, 180
	case b.MaxLon > 180:
		bound.boxes[0].MaxLon = 180
		bound.add(geometry.Box{MinLon: -180, MinLat: b.MinLat, MaxLon: b.MaxLon - 360, MaxLat: b.MaxLat})
	case b.MinLon < -180:
		bound.boxes[0].MinLon = -180
		bound.add(geometry.Box{MinLon: b.MinLon + 360, MinLat: b.MinLat, MaxLon: 180, MaxLat: b.MaxLat})
	}
	return bound
}

func (b *s2Bound) add(box geometry.Box) {
	b.boxes[b.n] = box
	b.n++
}

// meets reports whether the edge has a point in the bound.
func (b *s2Bound) meets(e s2Edge) bool {
	for i := range b.n {
		if boxMeets(b.boxes[i], e.a, e.b) {
			return true
		}
	}
	return false
}

// boxMeets reports whether the closed edge p-q has a point in the closed box, exactly.
func boxMeets(b geometry.Box, p, q geometry.Point) bool {
	if max(p.Lon, q.Lon) < b.MinLon || min(p.Lon, q.Lon) > b.MaxLon ||
		max(p.Lat, q.Lat) < b.MinLat || min(p.Lat, q.Lat) > b.MaxLat {
		return false
	}
	if b.Contains(p) || b.Contains(q) {
		return true
	}
	// The edge's own box meets this one: they are apart only if all of this one is to one side
	// of the edge's line, and then the two corners furthest across it are.
	u, v := geometry.Point{Lon: b.MinLon, Lat: b.MinLat}, geometry.Point{Lon: b.MaxLon, Lat: b.MaxLat}
	if (p.Lon < q.Lon) == (p.Lat < q.Lat) {
		u, v = geometry.Point{Lon: b.MinLon, Lat: b.MaxLat}, geometry.Point{Lon: b.MaxLon, Lat: b.MinLat}
	}
	return geometry.Orient(p, q, u)*geometry.Orient(p, q, v) <= 0
}
