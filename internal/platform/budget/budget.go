// Package budget bounds the memory that large requests take together. What is
// beyond it is refused and may come again, rather than all of them ending the
// process.
package budget

import "sync/atomic"

// Free is what a request may take without asking, in bytes: small requests get
// through while large ones have used up the budget.
const Free = 64 << 10

// Budget is a number of bytes that requests share. Safe for concurrent use.
type Budget struct {
	limit   int64
	used    atomic.Int64
	refused atomic.Uint64
}

// New returns a budget of that many bytes.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Used is what all leases hold now, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Refused counts the times that there was no room.
func (b *Budget) Refused() uint64 { return b.refused.Load() }

// Lease returns the part of one request, which holds nothing yet.
func (b *Budget) Lease() *Lease { return &Lease{of: b} }

// Lease is the part of a budget that one request holds. It belongs to one
// goroutine, which releases it.
type Lease struct {
	of   *Budget
	held int64
}

// Hold makes the lease n bytes in all and reports whether there was room. It
// never makes it smaller, and up to Free there always is.
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

// Release gives everything back. It may be called again.
func (l *Lease) Release() {
	l.of.used.Add(-l.held)
	l.held = 0
}
