// Package budget bounds the memory that large requests use together. Requests beyond the bound are
// refused, so that their sum does not end the process.
package budget

import "sync/atomic"

// Free is the memory that a request may use without asking, in bytes, so that small requests pass
// while large ones have used up the budget.
const Free = 64 << 10

// Budget is a number of bytes that requests share. It is safe for concurrent use.
type Budget struct {
	limit   int64
	used    atomic.Int64
	refused atomic.Uint64
}

// New returns a budget of that many bytes.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the bytes that all leases hold now.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused returns the number of refused requests for memory.
func (b *Budget) Refused() uint64 { return b.refused.Load() }

// Lease returns an empty lease for one request.
func (b *Budget) Lease() *Lease { return &Lease{of: b} }

// Lease is the part of a budget that one request holds. One goroutine uses and releases it.
type Lease struct {
	of   *Budget
	held int64
}

// Hold grows the lease to n bytes in all and reports whether there was room. It never shrinks the
// lease, and always succeeds up to Free.
func (l *Lease) Hold(n int64) bool {
	more := n - l.held
	if n <= Free || more <= 0 {
		return true
	}
	if l.of.used.Add(more) > l.of.limit {
		l.of.used.Add(-more)
		l.of.refused.Add(1)
		return false
	}
	l.held = n
	return true
}

// Release returns all bytes to the budget. It may be called again.
func (l *Lease) Release() {
	l.of.used.Add(-l.held)
	l.held = 0
}
