package fence

import "slices"

// catchUps is how often a renewal follows the set's changes before it makes their writers
// wait for the last of them. Each time there are fewer: to follow takes less than to change.
const catchUps = 3

// tend begins to build a cellmap anew where so much has changed that look-ups suffer.
// Neither readers nor writers wait for it.
func (s *Set) tend() {
	w := cellWriterOf(s.writer)
	if w == nil || s.tending.Load() || !w.stale(s.current.Load().table) {
		return
	}
	s.tending.Store(true)
	then := s.current.Load().table
	s.tasks.Go(func() { s.renew(w, then) })
}

// renew builds a cellmap of the table then, and lets w go on from it.
func (s *Set) renew(w *cellWriter, then *table) {
	next := newCellWriter(s.options).(*cellWriter)
	next.begin(buildCellmap(slices.Collect(then.all()), next.rule), then)
	for range catchUps {
		now := s.tableOf(w)
		if now == nil {
			break
		}
		next.follow(then, now)
		then = now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tending.Store(false)
	if cellWriterOf(s.writer) != w {
		return // the whole set has been replaced meanwhile
	}
	now := *s.current.Load()
	next.follow(then, now.table)
	*w = *next
	now.index = w.publish(now.table)
	s.current.Store(&now)
	s.tend()
}

// tableOf is the present table if w is still the set's writer; nil if not.
func (s *Set) tableOf(w *cellWriter) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cellWriterOf(s.writer) != w {
		return nil
	}
	return s.current.Load().table
}

// Building reports whether an index is being built anew in the background.
func (s *Set) Building() bool { return s.tending.Load() }

// Settle waits for the index that is being built anew in the background, if there is one.
// Answers do not depend on it.
func (s *Set) Settle() { s.tasks.Wait() }
