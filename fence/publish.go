package fence

import "sync/atomic"

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
