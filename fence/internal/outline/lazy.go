package outline

import (
	"sync"
	"sync/atomic"

	"paddock/fence/internal/index"
)

// Lazy is the outline of a table, which is made when it is first asked for. Sets that are only
// looked up never have one.
type Lazy struct {
	table *index.Table
	brute bool
	once  sync.Once
	made  atomic.Pointer[tree]
}

// NewLazy returns the outline of the table. Its answers are those of a plain loop over all fences,
// and if brute it is one.
func NewLazy(t *index.Table, brute bool) *Lazy { return &Lazy{table: t, brute: brute} }

// Get returns the outline. The first call makes it, while others wait.
func (l *Lazy) Get() Outline {
	if l.brute {
		return brute{l.table}
	}
	if x := l.made.Load(); x != nil {
		return x
	}
	l.once.Do(func() { l.made.Store(build(l.table)) })
	return l.made.Load()
}

// Follow returns the outline of another table of the same set. It is made at once from this one, if
// that was asked for. Only the set's writer calls it.
func (l *Lazy) Follow(now *index.Table) *Lazy {
	next := &Lazy{table: now, brute: l.brute}
	if x := l.made.Load(); x != nil {
		next.made.Store(x.follow(now))
	}
	return next
}
