package measure

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/load/histogram"
)

// Call sends one request and checks its answer.
type Call func(ctx context.Context) error

// caller is one of the callers of Calls, with its counts on cache lines of its own.
type caller struct {
	_     [64]byte
	done  atomic.Int64
	times *histogram.Histogram
	err   error
	_     [64]byte
}

// Calls lets each caller call whenever its last call has been answered. The window, which start
// begins, is cut out of a steady state: callers neither start nor stop at its borders. One call in
// every is timed, because reading the clock twice for each would cost fast services a tenth of
// their rate. size is the payload of a call, in bytes.
func Calls(ctx context.Context, calls []Call, every, size int64, o Options, start func() (*Meter, error)) (*Measurement, error) {
	var (
		running      sync.WaitGroup
		timing, halt atomic.Bool
		callers      = make([]caller, len(calls))
	)
	for i, call := range calls {
		c := &callers[i]
		c.times = histogram.New()
		running.Go(func() { c.err = c.loop(ctx, call, every, &timing, &halt) })
	}
	total := func() (sum int64) {
		for i := range callers {
			sum += callers[i].done.Load()
		}
		return sum
	}
	_ = lifecycle.Sleep(ctx, o.Warmup)
	runtime.GC() // the garbage of the warm-up is not part of the window
	m := &Measurement{}
	meter, err := start()
	if err == nil {
		before := total()
		timing.Store(true)
		_ = lifecycle.Sleep(ctx, o.Duration)
		timing.Store(false)
		m.Ops = total() - before
		err = meter.Stop(m)
	}
	halt.Store(true)
	running.Wait()
	m.Bytes = m.Ops * size
	all := make([]*histogram.Histogram, len(callers))
	for i := range callers {
		all[i], err = callers[i].times, errors.Join(err, callers[i].err)
	}
	m.Latency = LatencyOf(all...)
	return m, err
}

func (c *caller) loop(ctx context.Context, call Call, every int64, timing, halt *atomic.Bool) error {
	for n := int64(1); !halt.Load(); n++ {
		timed := n%every == 0 && timing.Load()
		var began time.Time
		if timed {
			began = time.Now()
		}
		if err := call(ctx); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if timed {
			c.times.Record(int64(time.Since(began)))
		}
		c.done.Store(n)
	}
	return nil
}
