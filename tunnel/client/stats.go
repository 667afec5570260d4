package client

import (
	"sync/atomic"

	"paddock/tunnel/internal/message"
)

// Stats counts the work of a Client. In an idle client Inflight and Bytes are 0.
type Stats struct {
	Inflight int   `json:"inflight"` // exchanges and connections under way
	Bytes    int64 `json:"bytes"`    // that they may come to hold
	Idle     int   `json:"idle"`     // connections to targets that wait for work
	Shared   int   `json:"shared"`   // connections to targets of HTTP/2

	Direct       int    `json:"direct"`        // direct channels, made or being made
	DirectFailed uint64 `json:"direct_failed"` // that could not be made

	Full        uint64 `json:"full"`  // refused for Budget or MaxInflight
	Hints       uint64 `json:"hints"` // to the server: full, down, or no longer so
	Dials       uint64 `json:"dials"` // connections to targets, or attempts
	DialsFailed uint64 `json:"dials_failed"`
	DialsSpared uint64 `json:"dials_spared"` // refused at once: the target had taken no connection a moment before
	Retries     uint64 `json:"retries"`      // exchanges repeated over a new connection, since an idle one had ended
}

// clientCounts are those of a client's targets.
type clientCounts struct {
	full, hints, dials, failed, spared, retries, directFailed atomic.Uint64
}

// Stats returns the present counts.
func (c *Client) Stats() Stats {
	n := &c.counts
	s := Stats{
		Bytes: c.budget.used.Load(), Full: n.full.Load(), Hints: n.hints.Load(), Dials: n.dials.Load(), DialsFailed: n.failed.Load(),
		DialsSpared: n.spared.Load(), Retries: n.retries.Load(), Direct: int(c.directs.Load()), DirectFailed: n.directFailed.Load(),
	}
	c.each(func(b *target) {
		s.Inflight += int(b.inflight.Load())
		s.Idle += b.pool.size()
		if b.h2 != nil {
			s.Shared += b.h2.size()
		}
	})
	return s
}

const (
	// defaultBudget is the memory that a client may use for visitors: 1,500 at a time.
	defaultBudget = 96 << 20
	// minBudget is room for a visitor or two.
	minBudget = 4 * message.ExchangeBytes
)

// byteBudget bounds the bytes that a client's exchanges may hold together. It reserves the worst
// case, since an answer in one piece needs no credit. Safe for concurrent use.
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

// roomy reports whether an eighth of the budget is free again, which suffices for any visitor.
func (b *byteBudget) roomy() bool {
	return b.used.Load() <= b.limit-max(b.limit/8, message.ExchangeBytes+message.MaxSmall+h2Window)
}

func (b *byteBudget) give(n int) { b.used.Add(-int64(n)) }
