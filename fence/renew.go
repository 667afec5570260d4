package fence

import "runtime"

// tend begins to build a cellmap anew where the set has outgrown its own, or helps the one that
// has been built to follow.
func (s *Set) tend() {
	w, now := cellWriterOf(s.writer), s.current.Load().table
	switch {
	case s.renewal != nil && s.renewal.of == w:
		s.renewal.step(now)
	case w != nil && !s.tending.Load() && w.stale(now):
		s.tending.Store(true)
		s.tasks.Go(func() { s.renew(w, now) })
	}
}

// renew builds a cellmap of the table then, and lets w go on from it.
func (s *Set) renew(w *cellWriter, then *table) {
	r := newRenewal(w, then)
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
		if s.renewal = r; !r.step(now.table) {
			return true
		}
		now.index = r.finish(now.table)
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
