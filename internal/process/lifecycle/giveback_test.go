package lifecycle

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Memory is returned some time after a load has ended, and again once enough memory has been taken
// since. It is not returned where none was taken.
func TestGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mb = 1 << 20
		ctx, cancel := context.WithCancel(t.Context())
		var n, held, freed atomic.Int64
		b := giveBack{
			underWay: func() int { return int(n.Load()) },
			held:     func() uint64 { return uint64(held.Load()) },
			free:     func() { freed.Add(1); held.Store(20 * mb) },
		}
		done := make(chan error)
		go func() { done <- b.run(ctx) }()
		for _, step := range []struct {
			what          string
			underWay, has int64
			length        time.Duration
			freed         int64
		}{
			{"what the start has left", 0, 25 * mb, 6 * time.Second, 1},
			{"nothing is taken", 0, 20 * mb, time.Minute, 1},
			{"a load", 300, 90 * mb, time.Minute, 1},
			{"less of it", 40, 90 * mb, time.Minute, 1},
			{"a moment without", 20, 90 * mb, 4 * time.Second, 1},
			{"it was not over", 300, 90 * mb, 2 * time.Second, 1},
			{"a tenth of it", 20, 90 * mb, 7 * time.Second, 2},
			{"which goes on", 20, 90 * mb, time.Minute, 2},
			{"and is over", 0, 90 * mb, 6 * time.Second, 3},
			{"somebody asks how it is", 0, 21 * mb, time.Minute, 3},
			{"and asks", 0, 23 * mb, 6 * time.Second, 4},
		} {
			n.Store(step.underWay)
			held.Store(step.has)
			time.Sleep(step.length)
			synctest.Wait()
			if freed := freed.Load(); freed != step.freed {
				t.Errorf("%s: given back %d times, want %d", step.what, freed, step.freed)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// collect returns memory that was taken from the system.
func TestCollect(t *testing.T) {
	collect()
	before := heldOfSystem()
	taken := make([]byte, 32<<20)
	for i := range taken {
		taken[i] = 1
	}
	with := heldOfSystem()
	if taken[len(taken)-1] != 1 || with < before+24<<20 {
		t.Fatalf("%d bytes before, %d with 32 MiB more", before, with)
	}
	collect() // taken is not used after this line
	if after := heldOfSystem(); after > before+8<<20 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}
