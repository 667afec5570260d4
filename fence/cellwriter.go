package fence

import "slices"

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
	options indexOptions
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

func newCellWriter(o indexOptions) *cellWriter {
	return &cellWriter{options: o, rule: o.rule, over: rtreeWriter{rule: o.rule}, inOver: map[Ref]struct{}{}, patcher: new(cellPatcher)}
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

func (w *cellWriter) publish(t *table) index {
	if w.base == nil {
		w.begin(buildCellmap(slices.Collect(t.all()), w.rule), t)
	}
	w.apply(t)
	x := &cellIndex{base: w.base, t: t, kind: w.options.kind}
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
