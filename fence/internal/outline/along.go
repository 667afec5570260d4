package outline

import (
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// AppendAlong implements Outline.
//
// hot: guarded by BenchmarkAlong and TestOutlinesDoNotAllocate.
func (x *tree) AppendAlong(dst []geojson.Ref, w geometry.Path) []geojson.Ref {
	from := len(dst)
	if !w.Over() {
		if found, ok := x.grid.appendAlong(dst, &w); ok {
			return x.decide(found, from, &w)
		}
	}
	for _, b := range w.Boxes() {
		if !b.Empty() {
			dst = x.crossed(dst, b, &w)
		}
	}
	return x.decide(dst, from, &w)
}

// crossed appends the ref of each edge that the path crosses, of the pieces in the box.
func (x *tree) crossed(dst []geojson.Ref, b geometry.Box, w *geometry.Path) []geojson.Ref {
	x.tree.Search([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, func(_, _ [2]float64, p piece) bool {
		if p.part == ofMiddle {
			return true
		}
		c := p.chain()
		for i := int(p.from); i < p.end(&c); i++ {
			if w.Meets(c.edge(i)) {
				dst = append(dst, c.ref)
			}
		}
		return true
	})
	return dst
}

// decide keeps of dst[from:], which has a ref for each crossing of an edge, one for each fence
// whose boundary is crossed.
func (x *tree) decide(dst []geojson.Ref, from int, w *geometry.Path) []geojson.Ref {
	slices.Sort(dst[from:])
	kept := dst[:from]
	for rest := dst[from:]; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[0] {
			n++
		}
		if e := x.table.Get(rest[0]); certain(e, n, w) || crosses(e, w) {
			kept = append(kept, rest[0])
		}
		rest = rest[n:]
	}
	return kept
}

// certain reports whether so many crossings are enough to know: a line is crossed by any, and one
// polygon by an odd number. A path over the antimeridian may find an edge twice.
func certain(e *index.Entry, n int, w *geometry.Path) bool {
	return len(e.Fence.Geometry) == 0 || n%2 == 1 && len(e.Fence.Geometry) == 1 && !w.Over()
}

// crosses reports whether the path crosses the boundary of a fence, or the line that it is.
func crosses(e *index.Entry, w *geometry.Path) bool {
	if e.Fence.OnlyCrossed() {
		return w.Crosses(e.Fence.Lines)
	}
	_, _, ok := w.PassesParts(e.Fence.Geometry, e.Boxes())
	return ok
}

// Passes returns the shares of a path at which it first and last crosses the boundary of a fence,
// if it does. Of a fence of one part it looks at the pieces near the path.
func Passes(e *index.Entry, w *geometry.Path) (first, last float64, ok bool) {
	if len(e.Fence.Geometry) != 1 || w.Over() {
		return w.PassesParts(e.Fence.Geometry, e.Boxes())
	}
	var few [16]geometry.Cut
	turns, around, all := few[:0], w.Boxes()[0], piecesOf(e)
	for i := range all {
		if all[i].Part < 0 || !all[i].Box.Intersects(around) {
			continue
		}
		pc := piece{e, all[i].Part, all[i].Ring, all[i].From}
		c := pc.chain()
		for k := int(pc.from); k < pc.end(&c); k++ {
			p, q := c.edge(k)
			turns = w.AppendCut(turns, p, q)
		}
	}
	return geometry.Ends(turns)
}
