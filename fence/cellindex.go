package fence

import "slices"

// cellIndex is a cellmap, and what has changed since it was built. It is immutable.
type cellIndex struct {
	base  *cellmap
	edits *cellEdits // nil = nothing has changed
	t     *table
}

var _ Index = (*cellIndex)(nil)

// cellEdits is what has changed since a cellmap was built: mostly cells. A fence that these
// cannot take is in an R-tree, and apart if cells hold what it was before.
type cellEdits struct {
	patch *cellPatch
	apart []Ref       // ascending; cells do not count for them
	over  *rtreeIndex // nil = it has no fences, and none is apart
}

func (x *cellIndex) Append(dst []Ref, lon, lat float64) []Ref {
	if lon == 180 {
		lon = -180
	}
	p := Point{lon, lat} // what is not finite is in no cell
	if x.edits == nil && !x.twice(p) {
		return x.base.append(dst, p)
	}
	return x.appendEdited(dst, p)
}

// twice says whether p is asked for at the longitude 180 too, where it may be on an edge.
func (x *cellIndex) twice(p Point) bool { return p.Lon == -180 && x.base.rule == closed }

// appendEdited is Append where fences have changed, or p is to be asked for twice.
func (x *cellIndex) appendEdited(dst []Ref, p Point) []Ref {
	if x.twice(p) {
		from := len(dst)
		return sortTail(x.appendOnce(x.appendOnce(dst, p), Point{180, p.Lat}), from)
	}
	return x.appendOnce(dst, p)
}

func (x *cellIndex) appendOnce(dst []Ref, p Point) []Ref {
	switch {
	case x.edits == nil:
		return x.base.append(dst, p)
	case x.edits.over == nil:
		return x.edits.patch.append(dst, p)
	}
	return x.edits.appendBoth(dst, p)
}

// appendBoth appends what the cells and the R-tree have.
func (x *cellEdits) appendBoth(dst []Ref, p Point) []Ref {
	from := len(dst)
	dst = x.patch.append(dst, p)
	kept := dst[:from]
	for _, r := range dst[from:] {
		if _, apart := slices.BinarySearch(x.apart, r); !apart {
			kept = append(kept, r)
		}
	}
	return sortTail(x.over.find(kept, p), from)
}

func antimeridian(lon float64) bool { return lon == 180 || lon == -180 }

func (x *cellIndex) AppendBatch(dst *Batch, lon, lat []float64) {
	if x.edits != nil || x.base.rule == closed && slices.ContainsFunc(lon, antimeridian) {
		dst.appendEach(lon, lat, x.Append)
		return
	}
	dst.begin(lon, lat)
	x.base.appendBatch(dst, lon, lat)
}

func (x *cellIndex) Stats() Stats {
	bytes := x.base.bytes()
	if e := x.edits; e != nil {
		bytes += e.patch.bytes + int64(4*len(e.apart))
		if e.over != nil {
			bytes += e.over.bytes()
		}
	}
	return x.t.stats(KindCellmap, bytes)
}

const (
	// overlayFences is how many fences may be apart from the cells before it is worth while to
	// build a cellmap anew.
	overlayFences = 256
	// outgrown is how many times as many edges as it was built for, or as few, make a cellmap one
	// whose cells are too large, or too many.
	outgrown = 4
)

// cellWriter builds a cellmap of all that came before the first publication. Later changes go
// into cells of a patch, or else into an R-tree.
type cellWriter struct {
	rule    rule
	base    *cellmap // nil = nothing was published yet
	built   int      // edges of base
	patch   *cellPatch
	over    rtreeWriter
	inOver  map[Ref]struct{}
	apart   []Ref    // ascending
	seen    bool     // apart is published, and not to be changed
	changes []change // since the last table
	patcher *cellPatcher
}

func newCellWriter(o Options) writer {
	r := o.Boundary.rule()
	return &cellWriter{rule: r, over: rtreeWriter{rule: r}, inOver: map[Ref]struct{}{}, patcher: new(cellPatcher)}
}

// begin makes a new cellmap the base. t has the fences that are in it.
func (w *cellWriter) begin(base *cellmap, t *table) {
	w.base, w.built, w.patch = base, t.edges, newCellPatch(base)
}

func (w *cellWriter) replace(old, successor *entry) {
	if w.base != nil {
		w.changes = append(w.changes, change{old, successor})
	}
}

func (w *cellWriter) publish(t *table) Index {
	if w.base == nil {
		w.begin(buildCellmap(slices.Collect(t.all()), w.rule), t)
	}
	w.apply(t)
	x := &cellIndex{base: w.base, t: t}
	if w.patch.tiles > 0 || len(w.inOver)+len(w.apart) > 0 {
		x.edits = &cellEdits{patch: w.patch, apart: w.apart}
		w.seen = true
		if len(w.inOver)+len(w.apart) > 0 {
			x.edits.over = w.over.index(t)
		}
	}
	return x
}

// apply takes in the changes that led to the table.
func (w *cellWriter) apply(t *table) {
	for _, c := range w.changes {
		w.take(c, t)
	}
	clear(w.changes)
	w.changes = w.changes[:0]
}

// take takes in a change: by cells, but for a fence that is in the R-tree already and one that
// cells cannot take.
func (w *cellWriter) take(c change, t *table) {
	if _, ok := w.inOver[c.ref()]; ok {
		w.over.replace(c.old, nil)
		delete(w.inOver, c.ref())
	} else {
		patch, ok := w.patcher.patch(w.patch, c, t, w.apart)
		if ok {
			w.patch = patch
			return
		}
		if c.old != nil {
			w.setApart(c.ref())
		}
	}
	if c.successor != nil {
		w.inOver[c.ref()] = struct{}{}
		w.over.replace(nil, c.successor)
	}
}

func (w *cellWriter) setApart(r Ref) {
	if w.seen {
		w.apart, w.seen = slices.Clone(w.apart), false
	}
	w.apart = withRef(w.apart, r)
}

// stale says whether the set should go on with a cellmap of the present table.
func (w *cellWriter) stale(t *table) bool {
	return len(w.apart)+len(w.inOver) > overlayFences ||
		t.edges > outgrown*w.built && w.built > 0 || t.edges < w.built/outgrown
}

// follow takes in what is in the table now and was not in the one of then, and takes out what
// is no more.
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
	w.apply(now)
}
