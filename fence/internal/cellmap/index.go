package cellmap

import (
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Index is a cellmap, and what has changed since it was built. It is immutable.
type Index struct {
	base  *Map
	edits *cellEdits // nil = nothing has changed
	t     *index.Table
	kind  string
}

var _ index.Index = (*Index)(nil)

// cellEdits is what has changed since a cellmap was built: mostly cells. A fence that these
// cannot take is in an R-tree, and apart if cells hold what it was before.
type cellEdits struct {
	patch *cellPatch
	apart []geojson.Ref     // ascending; cells do not count for them
	over  *index.RtreeIndex // nil = it has no fences, and none is apart
}

func (x *Index) Append(dst []geojson.Ref, lon, lat float64) []geojson.Ref {
	if lon == 180 {
		lon = -180
	}
	p := geometry.Point{Lon: lon, Lat: lat} // what is not finite is in no cell
	if x.edits == nil && !x.twice(p) {
		return x.base.append(dst, p)
	}
	return x.appendEdited(dst, p)
}

// twice says whether p is asked for at the longitude 180 too, where it may be on an edge.
func (x *Index) twice(p geometry.Point) bool {
	return p.Lon == -180 && x.base.rule == geometry.Closed
}

// appendEdited is Append where fences have changed, or p is to be asked for twice.
func (x *Index) appendEdited(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	if x.twice(p) {
		from := len(dst)
		return index.SortTail(x.appendOnce(x.appendOnce(dst, p), geometry.Point{Lon: 180, Lat: p.Lat}), from)
	}
	return x.appendOnce(dst, p)
}

func (x *Index) appendOnce(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	switch {
	case x.edits == nil:
		return x.base.append(dst, p)
	case x.edits.over == nil:
		return x.edits.patch.append(dst, p)
	}
	return x.edits.appendBoth(dst, p)
}

// appendBoth appends what the cells and the R-tree have.
func (x *cellEdits) appendBoth(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	from := len(dst)
	dst = x.patch.append(dst, p)
	kept := dst[:from]
	for _, r := range dst[from:] {
		if _, apart := slices.BinarySearch(x.apart, r); !apart {
			kept = append(kept, r)
		}
	}
	return index.SortTail(x.over.Find(kept, p), from)
}

func antimeridian(lon float64) bool { return lon == 180 || lon == -180 }

func (x *Index) AppendBatch(dst *index.Answers, lon, lat []float64) {
	switch {
	case x.edits != nil && x.edits.over != nil, x.base.rule == geometry.Closed && slices.ContainsFunc(lon, antimeridian):
		dst.AppendEach(lon, lat, x.Append)
	case x.edits != nil:
		dst.Begin(lon, lat)
		x.edits.patch.appendBatch(dst, lon, lat)
	default:
		dst.Begin(lon, lat)
		x.base.appendBatch(dst, lon, lat)
	}
}

func (x *Index) Stats() index.Stats {
	bytes := x.base.bytes()
	if e := x.edits; e != nil {
		bytes += e.patch.bytes + int64(4*len(e.apart))
		if e.over != nil {
			bytes += e.over.Bytes()
		}
	}
	return x.t.Stats(x.kind, bytes)
}

// Below autoSmall parts a look at every box is faster than any search; a set that was larger
// goes back only at half of it, so that one at the limit does not change with each edit.
const AutoSmall = 32

// AutoWriter is the writer of a kind that suits the size of the set.
type AutoWriter struct {
	small, large func() index.Writer
	writer       index.Writer // the one in use
	isLarge      bool
}

// NewAutoWriter makes a writer that uses one of two kinds: one for small sets, one for large ones.
func NewAutoWriter(small, large func() index.Writer) index.Writer {
	return &AutoWriter{small: small, large: large, writer: small()}
}

func (w *AutoWriter) Replace(old, successor *index.Entry) { w.writer.Replace(old, successor) }

// Current is the writer in use.
func (w *AutoWriter) Current() index.Writer { return w.writer }

// Publish builds everything anew where the kind changes.
func (w *AutoWriter) Publish(t *index.Table) index.Index {
	large := t.Parts > AutoSmall || w.isLarge && t.Parts > AutoSmall/2
	if large != w.isLarge {
		w.isLarge, w.writer = large, w.small()
		if large {
			w.writer = w.large()
		}
		for e := range t.All() {
			w.writer.Replace(nil, e)
		}
	}
	return w.writer.Publish(t)
}
