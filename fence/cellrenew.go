package fence

import "slices"

// renewSteps is how many changes a renewal takes in at once, for which writers wait, and how
// many each edit takes in for it beside its own: so it gains on those who write without a pause.
const renewSteps = 4

// renewal is a cellmap that is built anew beside a set. It follows what has changed meanwhile,
// and takes the place of the set's own when it has all.
type renewal struct {
	of      *cellWriter // whose place it takes
	next    *cellWriter
	table   *table   // what next has when it has taken in the changes
	changes []change // still to be taken in
}

// newRenewal builds a cellmap of the table then, for w to go on from. It may take long, and uses
// one processor.
func newRenewal(w *cellWriter, then *table) *renewal {
	r := &renewal{of: w, next: newCellWriter(w.options), table: then}
	r.next.begin(buildCellmapOn(1, slices.Collect(then.all()), w.rule), then)
	return r
}

// finish puts what was built in the place of the writer's own, and gives the index of the table
// now, all of which it has.
func (r *renewal) finish(now *table) index {
	*r.of = *r.next
	return r.of.publish(now)
}

// step takes in some of the changes that led to the table now, and says whether that is all of them.
//
// It takes in those that led to one table before it looks at the next: cells are made of what
// is in a table, so that what is in another would stay in some of them.
func (r *renewal) step(now *table) (all bool) {
	for range renewSteps {
		if len(r.changes) == 0 {
			for old, successor := range r.table.changes(now) {
				r.changes = append(r.changes, change{old, successor})
			}
			if r.table = now; len(r.changes) == 0 {
				return true
			}
		}
		r.next.take(r.changes[0], r.table)
		r.changes = r.changes[1:]
	}
	return len(r.changes) == 0 && r.table == now
}
