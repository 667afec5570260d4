package fence

import (
	"runtime"
	"slices"
)

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

// step takes in n changes that led to the table now, and says whether that is all of them.
//
// It takes in those that led to one table before it looks at the next: cells are made of what
// is in a table, so that what is in another would stay in some of them.
func (r *renewal) step(now *table, n int) (all bool) {
	for range n {
		if len(r.changes) == 0 {
			if r.changes, r.table = changesBetween(r.table, now), now; len(r.changes) == 0 {
				return true
			}
		}
		r.next.take(r.changes[0], r.table)
		r.changes = r.changes[1:]
	}
	return len(r.changes) == 0 && r.table == now
}

// changesBetween lists what became of the fences of a table until it was another.
func changesBetween(then, now *table) (changes []change) {
	for i := range max(len(then.pages), len(now.pages)) {
		before, after := then.page(i), now.page(i)
		if before == after {
			continue
		}
		for k := range pageSize {
			old, successor := before.entry(k), after.entry(k)
			if old != successor {
				changes = append(changes, change{old, successor})
			}
		}
	}
	return changes
}

// tend begins to build a cellmap anew where the set has outgrown its own, or helps the one that
// has been built to follow.
func (s *Set) tend() {
	w, now := cellWriterOf(s.writer), s.current.Load().table
	switch {
	case s.renewal != nil && s.renewal.of == w:
		s.renewal.step(now, renewSteps)
	case w != nil && !s.tending.Load() && w.stale(now):
		s.tending.Store(true)
		s.tasks.Go(func() { s.renew(w, now) })
	}
}

// renew builds a cellmap of the table then, and lets w go on from it.
func (s *Set) renew(w *cellWriter, then *table) {
	r := &renewal{of: w, next: newCellWriter(s.options).(*cellWriter), table: then}
	r.next.begin(buildCellmapOn(1, slices.Collect(then.all()), w.rule), then)
	for s.follow(r) {
		runtime.Gosched() // to a writer that has waited
	}
}

// follow has a renewal follow the set for a while, and says whether there is more to do.
func (s *Set) follow(r *renewal) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.current.Load()
	if cellWriterOf(s.writer) == r.of {
		if s.renewal = r; !r.step(now.table, renewSteps) {
			return true
		}
		*r.of = *r.next
		now.index = r.of.publish(now.table)
		s.current.Store(&now)
	} // else the whole set has been replaced meanwhile
	s.renewal = nil
	s.tending.Store(false)
	s.tend()
	return false
}

// Building reports whether an index is being built anew in the background.
func (s *Set) Building() bool { return s.tending.Load() }

// Settle waits for the index that is being built anew in the background, if there is one.
// Answers do not depend on it.
func (s *Set) Settle() { s.tasks.Wait() }
