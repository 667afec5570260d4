package client

import (
	"sync/atomic"

	"paddock/tunnel/internal/message"
)

const (
	// defaultBudget is what a client may hold for visitors: 1,500 at a time.
	defaultBudget = 96 << 20
	// minBudget is room for a visitor or two.
	minBudget = 4 * message.ExchangeBytes
)

// byteBudget bounds what all that is under way at a client may come to hold, by what it
// may hold at worst: an answer in one piece knows no credit. Safe for concurrent use.
type byteBudget struct {
	limit int64
	used  atomic.Int64
}

// take counts n bytes if there is room for them; give ends it.
func (b *byteBudget) take(n int) (ok bool) {
	if b.used.Add(int64(n)) > b.limit {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// roomy says whether there is room again for an eighth of all, and for whatever a visitor
// brings.
func (b *byteBudget) roomy() bool {
	return b.used.Load() <= b.limit-max(b.limit/8, message.ExchangeBytes+message.MaxSmall+h2Window)
}

func (b *byteBudget) give(n int) { b.used.Add(-int64(n)) }
