//go:build !linux

package natsload

import "time"

// ticker ticks by the runtime's timers.
type ticker struct{ ticks *time.Ticker }

// newTicker returns a ticker that Stop ends.
func newTicker(every time.Duration) (*ticker, error) { return &ticker{time.NewTicker(every)}, nil }

// Wait returns at the next tick, or at once if one was missed.
func (t *ticker) Wait() error {
	<-t.ticks.C
	return nil
}

// Stop ends it.
func (t *ticker) Stop() { t.ticks.Stop() }
