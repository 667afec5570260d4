package natsload

import (
	"context"
	"sync/atomic"
)

// window bounds how many messages are under way from all publishers together.
type window struct {
	limit   int64 // messages
	sent    atomic.Int64
	arrived func() int64 // how many have come where they come last
	waiting atomic.Int64
	moved   chan struct{} // one token: a goroutine that takes it and can go on passes it on
}

func newWindow(limit int64, arrived func() int64) *window {
	return &window{limit: limit, arrived: arrived, moved: make(chan struct{}, 1)}
}

// enter returns when n more messages may be sent.
func (w *window) enter(ctx context.Context, n int) error {
	end := w.sent.Add(int64(n))
	if end-w.arrived() <= w.limit {
		return nil
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	for end-w.arrived() > w.limit {
		select {
		case <-w.moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	w.pass()
	return nil
}

// wake is called after messages have been received.
func (w *window) wake() {
	if w.waiting.Load() > 0 {
		w.pass()
	}
}

func (w *window) pass() {
	select {
	case w.moved <- struct{}{}:
	default:
	}
}

// drained returns when everything that was sent has come.
func (w *window) drained(ctx context.Context) error {
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	for w.arrived() < w.sent.Load() {
		select {
		case <-w.moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
