//go:build !linux

package natsload

import "time"

// ticker ticks by the runtime's timers.
type ticker struct{ ticks *time.Ticker }

func newTicker(every time.Duration) (*ticker, error) { return &ticker{time.NewTicker(every)}, nil }

func (t *ticker) wait() error {
	<-t.ticks.C
	return nil
}

func (t *ticker) stop() { t.ticks.Stop() }
