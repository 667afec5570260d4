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
// go into the overlay, until whoever owns the writer lets it adopt another cellmap.
type cellWriter struct {
	base *cellmap // nil = nothing was published yet
	gone []Ref    // ascending; published ones are not changed
	over rtreeWriter
	new  map[Ref]struct{} // in over
}

// newCellWriter gives the writer of an R-tree where points on edges are not decided half-open:
// a cellmap does not know which fences have an edge through a point.
func newCellWriter(o Options) writer {
	if o.Boundary.rule() != halfOpen {
		return newRTreeWriter(o)
	}
	return &cellWriter{new: map[Ref]struct{}{}}
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
		i, _ := slices.BinarySearch(w.gone, old.ref)
		w.gone = slices.Insert(slices.Clone(w.gone), i, old.ref)
		return
	}
	delete(w.new, old.ref)
	w.over.replace(old, nil)
}

func (w *cellWriter) publish(t *table) Index {
	if w.base == nil {
		w.base = buildCellmap(slices.Collect(t.all()))
	}
	x := &cellIndex{base: w.base, gone: w.gone, t: t}
	if len(w.gone) > 0 || len(w.new) > 0 {
		x.over = w.over.index(t)
	}
	return x
}

// stale says whether the overlay is so large that the writer should adopt a cellmap made of
// the present table.
func (w *cellWriter) stale() bool { return len(w.gone)+len(w.new) > overlayFences }

// adopt lets the writer go on from a cellmap of the table then. now is the present one.
func (w *cellWriter) adopt(base *cellmap, then, now *table) {
	*w = cellWriter{base: base, new: map[Ref]struct{}{}}
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
	p, ok := normalize(lon, lat)
	if !ok {
		return dst
	}
	if x.over == nil {
		return x.base.append(dst, p)
	}
	return x.appendOver(dst, p)
}

// appendOver is Append where fences have changed.
func (x *cellIndex) appendOver(dst []Ref, p Point) []Ref {
	from := len(dst)
	dst = x.base.append(dst, p)
	kept := dst[:from]
	for _, r := range dst[from:] {
		if _, gone := slices.BinarySearch(x.gone, r); !gone {
			kept = append(kept, r)
		}
	}
	return sortTail(x.over.find(kept, p), from)
}

func (x *cellIndex) AppendBatch(dst *Batch, lon, lat []float64) {
	if x.over != nil {
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
