package fence

import (
	"runtime"
	"sync/atomic"

	"paddock/fence/internal/cellmap"
	"paddock/fence/internal/index"
)

// tend begins to build a cellmap anew where the set has outgrown its own, or helps the one that
// has been built to follow.
func (s *Set) tend() {
	w, now := cellWriterOf(s.writer), s.current.Load().table
	switch {
	case s.renewal != nil && s.renewal.Of == w:
		s.renewal.Step(now)
	case w != nil && !s.tending.Load() && w.Stale(now):
		s.tending.Store(true)
		s.tasks.Go(func() { s.renew(w, now) })
	}
}

// renew builds a cellmap of the table then, and lets w go on from it.
func (s *Set) renew(w *cellmap.Writer, then *index.Table) {
	r := cellmap.NewRenewal(w, then)
	for s.follow(r) {
		runtime.Gosched() // to a writer that has waited
	}
}

// follow has a renewal follow the set for a while, and says whether there is more to do.
func (s *Set) follow(r *cellmap.Renewal) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.current.Load()
	if cellWriterOf(s.writer) == r.Of {
		if s.renewal = r; !r.Step(now.table) {
			return true
		}
		now.index = r.Finish(now.table)
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

// published is what readers see of a thing that changes: one value at a time, which is never
// changed itself. Readers take no lock. One goroutine at a time may store or stage.
//
// Things that change together are staged with one [commit]: until that is done readers see
// what was there before of all of them, and afterwards what was staged of all of them.
type published[T any] struct {
	current atomic.Pointer[T]
	staged  atomic.Pointer[staged[T]] // nil but for the moment of a commit
}

type staged[T any] struct {
	next *T
	with *commit
}

// commit is the moment at which what was staged with it becomes visible.
type commit struct{ done atomic.Bool }

// Load is the present value, nil before the first one.
func (p *published[T]) Load() *T {
	if s := p.staged.Load(); s != nil && s.with.done.Load() {
		return s.next
	}
	return p.current.Load()
}

// Store makes next the present value.
func (p *published[T]) Store(next *T) { p.current.Store(next) }

// stage lets next become the present value when the commit is done. Call settle then.
func (p *published[T]) stage(next *T, with *commit) { p.staged.Store(&staged[T]{next, with}) }

// settle ends the staging of a commit that is done.
func (p *published[T]) settle() {
	p.current.Store(p.staged.Load().next)
	p.staged.Store(nil)
}
