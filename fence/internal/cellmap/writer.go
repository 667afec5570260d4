package cellmap

import (
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

const (
	// OverlayFences is how many fences may be apart from the cells before it is worth while to
	// build a cellmap anew.
	OverlayFences = 256
	// Outgrown is how many times as many edges as it was built for, or as few, make a cellmap one
	// whose cells are too large, or too many.
	Outgrown = 4
)

// Writer builds a cellmap of all that came before the first publication. Later changes go
// into cells of a patch, or else into an R-tree.
type Writer struct {
	options index.Options
	Rule    geometry.Rule
	Base    *Map // nil = nothing was published yet
	Built   int  // edges of base
	Patch   *cellPatch
	over    index.RtreeWriter
	InOver  map[geojson.Ref]struct{}
	Apart   []geojson.Ref // ascending
	seen    bool          // apart is published, and not to be changed
	changes []change      // since the last table
	Patcher *cellPatcher
}

func NewWriter(o index.Options) *Writer {
	return &Writer{options: o, Rule: o.Rule, over: index.RtreeWriter{Rule: o.Rule}, InOver: map[geojson.Ref]struct{}{}, Patcher: new(cellPatcher)}
}

// Begin makes a new cellmap the base. t has the fences that are in it.
func (w *Writer) Begin(base *Map, t *index.Table) {
	w.Base, w.Built, w.Patch = base, t.Edges, newCellPatch(base)
}

func (w *Writer) Replace(old, successor *index.Entry) {
	if w.Base != nil {
		w.changes = append(w.changes, change{old, successor})
	}
}

func (w *Writer) Publish(t *index.Table) index.Index {
	if w.Base == nil {
		w.Begin(buildCellmap(slices.Collect(t.All()), w.Rule), t)
	}
	w.apply(t)
	x := &Index{base: w.Base, t: t, kind: w.options.Kind}
	if w.Patch.Tiles > 0 || len(w.InOver)+len(w.Apart) > 0 {
		x.edits = &cellEdits{patch: w.Patch, apart: w.Apart}
		w.seen = true
		if len(w.InOver)+len(w.Apart) > 0 {
			x.edits.over = w.over.Index(t)
		}
	}
	return x
}

// apply takes in the changes that led to the table.
func (w *Writer) apply(t *index.Table) {
	for _, c := range w.changes {
		w.take(c, t)
	}
	clear(w.changes)
	w.changes = w.changes[:0]
}

// take takes in a change: by cells, but for a fence that is in the R-tree already and one that
// cells cannot take. A fence that cells have and should not have is apart: one that comes again
// with its ref, as a set goes back to an earlier state, goes into the R-tree too.
func (w *Writer) take(c change, t *index.Table) {
	if _, ok := w.InOver[c.ref()]; ok {
		w.over.Replace(c.old, nil)
		delete(w.InOver, c.ref())
	} else if _, apart := slices.BinarySearch(w.Apart, c.ref()); !apart {
		patch, ok := w.Patcher.patch(w.Patch, c, t, w.Apart)
		if ok {
			w.Patch = patch
			return
		}
		if c.old != nil {
			w.setApart(c.ref())
		}
	}
	if c.successor != nil {
		w.InOver[c.ref()] = struct{}{}
		w.over.Replace(nil, c.successor)
	}
}

func (w *Writer) setApart(r geojson.Ref) {
	if w.seen {
		w.Apart, w.seen = slices.Clone(w.Apart), false
	}
	w.Apart = withRef(w.Apart, r)
}

// Stale says whether the set should go on with a cellmap of the present table.
func (w *Writer) Stale(t *index.Table) bool {
	return len(w.Apart)+len(w.InOver) > OverlayFences ||
		t.Edges > Outgrown*w.Built && w.Built > 0 || t.Edges < w.Built/Outgrown
}

// renewSteps is how many changes a renewal takes in at once, while writers wait, and how many each
// edit takes in besides its own. So a renewal gains on writers that write without a pause.
const renewSteps = 4

// Renewal is a cellmap that is built anew beside a set. It follows what has changed meanwhile,
// and takes the place of the set's own when it has all.
type Renewal struct {
	Of      *Writer // whose place it takes
	Next    *Writer
	Table   *index.Table // what next has when it has taken in the changes
	changes []change     // still to be taken in
}

// NewRenewal builds a cellmap of the table then, for w to go on from. It may take long, and uses
// one processor.
func NewRenewal(w *Writer, then *index.Table) *Renewal {
	r := &Renewal{Of: w, Next: NewWriter(w.options), Table: then}
	r.Next.Begin(buildCellmapOn(1, slices.Collect(then.All()), w.Rule), then)
	return r
}

// Finish puts what was built in the place of the writer's own, and gives the index of the table
// now, all of which it has.
func (r *Renewal) Finish(now *index.Table) index.Index {
	*r.Of = *r.Next
	return r.Of.Publish(now)
}

// Step takes in some of the changes that led to the table now, and reports whether these are all.
//
// It takes in all changes of one table before those of the next: cells are made from the content of
// one table, and would otherwise mix two.
func (r *Renewal) Step(now *index.Table) (all bool) {
	for range renewSteps {
		if len(r.changes) == 0 {
			for old, successor := range r.Table.Changes(now) {
				r.changes = append(r.changes, change{old, successor})
			}
			if r.Table = now; len(r.changes) == 0 {
				return true
			}
		}
		r.Next.take(r.changes[0], r.Table)
		r.changes = r.changes[1:]
	}
	return len(r.changes) == 0 && r.Table == now
}
