package fence

import "slices"

// overlayFences is how many fences may have changed since a cellmap was built before it is
// worth while to build another.
const overlayFences = 256

// cellIndex is a cellmap, and what has changed since it was built: the fences that it knows
// and that are no more, and an R-tree of those that came. It is immutable.
type cellIndex struct {
	base *cellmap
	gone []Ref       // ascending
	over *rtreeIndex // nil = nothing has changed
	t    *table
}

var _ Index = (*cellIndex)(nil)

// cellWriter builds a cellmap of all that came before the first publication. Later changes
// go into the overlay, until the set goes on with a writer on another cellmap.
type cellWriter struct {
	base *cellmap // nil = nothing was published yet
	gone []Ref    // ascending
	seen bool     // gone is published, and not to be changed
	over rtreeWriter
	new  map[Ref]struct{} // in over
}

func newCellWriter(o Options) writer { return newCellWriterOn(nil, o.Boundary.rule()) }

func newCellWriterOn(base *cellmap, r rule) *cellWriter {
	return &cellWriter{base: base, over: rtreeWriter{rule: r}, new: map[Ref]struct{}{}}
}

func (w *cellWriter) replace(old, successor *entry) {
	if w.base == nil {
		return
	}
	if old != nil {
		w.takeOut(old)
	}
	if successor != nil {
		w.new[successor.ref] = struct{}{}
		w.over.replace(nil, successor)
	}
}

func (w *cellWriter) takeOut(old *entry) {
	if _, ok := w.new[old.ref]; !ok {
		if w.seen {
			w.gone, w.seen = slices.Clone(w.gone), false
		}
		i, _ := slices.BinarySearch(w.gone, old.ref)
		w.gone = slices.Insert(w.gone, i, old.ref)
		return
	}
	delete(w.new, old.ref)
	w.over.replace(old, nil)
}

func (w *cellWriter) publish(t *table) Index {
	if w.base == nil {
		w.base = buildCellmap(slices.Collect(t.all()), w.over.rule)
	}
	x := &cellIndex{base: w.base, gone: w.gone, t: t}
	w.seen = true
	if len(w.gone) > 0 || len(w.new) > 0 {
		x.over = w.over.index(t)
	}
	return x
}

// stale says whether the overlay is so large that the set should go on with a writer on a
// cellmap of the present table.
func (w *cellWriter) stale() bool { return len(w.gone)+len(w.new) > overlayFences }

// follow puts in what is in the table now and was not in the one of then, and takes out what
// is no more. The set's own writer has prepared all that is new.
func (w *cellWriter) follow(then, now *table) {
	for i := range max(len(then.pages), len(now.pages)) {
		before, after := then.page(i), now.page(i)
		if before == after {
			continue
		}
		for k := range pageSize {
			old, successor := before.entry(k), after.entry(k)
			if old != successor {
				w.replace(old, successor)
			}
		}
	}
}

func (x *cellIndex) Append(dst []Ref, lon, lat float64) []Ref {
	if lon == 180 {
		lon = -180
	}
	p := Point{lon, lat} // what is not finite is in no cell
	if x.over == nil && !x.twice(p) {
		return x.base.append(dst, p)
	}
	return x.appendOver(dst, p)
}

// twice says whether p is asked for at the longitude 180 too, where it may be on an edge.
func (x *cellIndex) twice(p Point) bool { return p.Lon == -180 && x.base.rule == closed }

// appendOver is Append where fences have changed, or p is to be asked for twice.
func (x *cellIndex) appendOver(dst []Ref, p Point) []Ref {
	from := len(dst)
	dst = x.appendBoth(dst, p)
	if x.twice(p) {
		dst = x.appendBoth(dst, Point{180, p.Lat})
	}
	return sortTail(dst, from)
}

// appendBoth appends what the cellmap and the overlay have, in any order.
func (x *cellIndex) appendBoth(dst []Ref, p Point) []Ref {
	from := len(dst)
	dst = x.base.append(dst, p)
	if x.over == nil {
		return dst
	}
	kept := dst[:from]
	for _, r := range dst[from:] {
		if _, gone := slices.BinarySearch(x.gone, r); !gone {
			kept = append(kept, r)
		}
	}
	return x.over.find(kept, p)
}

func antimeridian(lon float64) bool { return lon == 180 || lon == -180 }

func (x *cellIndex) AppendBatch(dst *Batch, lon, lat []float64) {
	if x.over != nil || x.base.rule == closed && slices.ContainsFunc(lon, antimeridian) {
		dst.appendEach(lon, lat, x.Append)
		return
	}
	dst.begin(lon, lat)
	x.base.appendBatch(dst, lon, lat)
}

func (x *cellIndex) Stats() Stats {
	bytes := x.base.bytes()
	if x.over != nil {
		bytes += x.over.bytes() + int64(4*len(x.gone))
	}
	return x.t.stats(KindCellmap, bytes)
}
