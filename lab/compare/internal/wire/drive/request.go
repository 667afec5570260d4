package drive

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
)

// timedEvery is which share of the requests of many callers is timed: reading
// the clock twice for each would cost the fastest peers a tenth of their rate.
const timedEvery = 32

// caller sends numbered requests and checks that each answer is its own.
type caller struct {
	requester peers.Requester
	body      [peers.SmallSize]byte
	number    uint64
}

// newCallers opens n of them; each one has had an answer when it returns.
func newCallers(ctx context.Context, s peers.Session, n int) ([]*caller, error) {
	callers := make([]*caller, n)
	for i := range callers {
		requester, err := s.Requester(ctx)
		if err != nil {
			return nil, err
		}
		callers[i] = &caller{requester: requester, number: uint64(i) << 40}
		if err := callers[i].call(ctx); err != nil {
			return nil, fmt.Errorf("the first request of caller %d: %w", i, err)
		}
	}
	return callers, nil
}

func (c *caller) call(ctx context.Context) error {
	c.number++
	binary.LittleEndian.PutUint64(c.body[:], c.number)
	answer, err := c.requester.Request(ctx, c.body[:])
	if err != nil {
		return err
	}
	if len(answer) != len(c.body) || binary.LittleEndian.Uint64(answer) != c.number {
		return fmt.Errorf("request %#x has the answer to another, of %d bytes", c.number, len(answer))
	}
	return nil
}

// tally is one caller's count, on a cache line of its own.
type tally struct {
	_    [64]byte
	done atomic.Int64
	_    [64]byte
}

// requests keeps n requests in flight. The window is cut out of a steady state:
// callers neither start nor stop at its borders.
func requests(ctx context.Context, s peers.Session, r Remote, o measure.Options, n int) (*measure.Measurement, error) {
	callers, err := newCallers(ctx, s, n)
	if err != nil {
		return nil, err
	}
	var (
		running    sync.WaitGroup
		stop       atomic.Bool
		timing     atomic.Bool
		tallies    = make([]tally, n)
		failures   = make([]error, n)
		histograms = make([]*hdrhistogram.Histogram, n)
	)
	for i, c := range callers {
		histograms[i] = measure.NewHistogram()
		running.Go(func() {
			failures[i] = c.loop(ctx, &stop, &timing, &tallies[i].done, histograms[i])
		})
	}
	total := func() (sum int64) {
		for i := range tallies {
			sum += tallies[i].done.Load()
		}
		return sum
	}
	_ = lifecycle.Sleep(ctx, o.Warmup)
	m, meter := &measure.Measurement{}, (*measure.Meter)(nil)
	meter, err = measure.StartMeter(r)
	if err == nil {
		timing.Store(true)
		before := total()
		_ = lifecycle.Sleep(ctx, o.Duration)
		m.Ops = total() - before
		err = meter.Stop(m)
	}
	stop.Store(true)
	running.Wait()
	m.Bytes = m.Ops * peers.SmallSize
	m.Latency = measure.LatencyOf(measure.Merged(histograms))
	return m, errors.Join(append(failures, err)...)
}

// loop calls until stop, and times one call in timedEvery while timing holds.
func (c *caller) loop(ctx context.Context, stop, timing *atomic.Bool, done *atomic.Int64, h *hdrhistogram.Histogram) error {
	for n := int64(1); !stop.Load(); n++ {
		timed := n%timedEvery == 0 && timing.Load()
		var began time.Time
		if timed {
			began = time.Now()
		}
		if err := c.call(ctx); err != nil {
			return err
		}
		if timed {
			measure.Record(h, time.Since(began))
		}
		done.Store(n)
	}
	return nil
}

// roundTrip times every request of a single caller.
func roundTrip(ctx context.Context, s peers.Session, r Remote, o measure.Options) (*measure.Measurement, error) {
	callers, err := newCallers(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	c := callers[0]
	for end := time.Now().Add(o.Warmup); time.Now().Before(end); {
		if err := c.call(ctx); err != nil {
			return nil, err
		}
	}
	meter, err := measure.StartMeter(r)
	if err != nil {
		return nil, err
	}
	m, h := &measure.Measurement{}, measure.NewHistogram()
	began := time.Now()
	for end := began.Add(o.Duration); began.Before(end); m.Ops++ {
		if err := c.call(ctx); err != nil {
			return nil, err
		}
		now := time.Now()
		measure.Record(h, now.Sub(began))
		began = now
	}
	err = meter.Stop(m)
	m.Bytes = m.Ops * peers.SmallSize
	m.Latency = measure.LatencyOf(h)
	return m, err
}
