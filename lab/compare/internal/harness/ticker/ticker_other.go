//go:build !linux

package ticker

import "time"

// Ticker ticks by the runtime's timers.
type Ticker struct{ ticks *time.Ticker }

// New returns a ticker that Stop ends.
func New(every time.Duration) (*Ticker, error) { return &Ticker{time.NewTicker(every)}, nil }

// Wait returns at the next tick, or at once if one was missed.
func (t *Ticker) Wait() error {
	<-t.ticks.C
	return nil
}

// Stop ends it.
func (t *Ticker) Stop() { t.ticks.Stop() }
