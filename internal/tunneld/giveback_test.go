package tunneld

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is given back once after a load, when it has been over for a while, and never for
// a few visitors.
func TestGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var n, freed atomic.Int64
		b := giveBack{func() int { return int(n.Load()) }, func() { freed.Add(1) }}
		done := make(chan error)
		go func() { done <- b.run(ctx) }()
		for _, step := range []struct {
			underWay, freed int64
			length          time.Duration
		}{
			{0, 0, time.Minute},
			{20, 0, time.Minute},
			{0, 0, time.Minute}, // that was no load
			{300, 0, time.Minute},
			{40, 0, time.Minute},
			{20, 0, 4 * time.Second},
			{300, 0, 2 * time.Second}, // not over yet
			{20, 1, 7 * time.Second},
			{0, 1, time.Minute},
		} {
			n.Store(step.underWay)
			time.Sleep(step.length)
			synctest.Wait()
			if freed := freed.Load(); freed != step.freed {
				t.Errorf("%+v: given back %d times", step, freed)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
