package fencebench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/bench/internal/measure"
	"paddock/bench/internal/ticker"
	"paddock/bench/internal/webload"
	"paddock/internal/lab"
)

// paceTick is how often the schedule is looked at; half of it is in every latency,
// whichever the server.
const paceTick = 50 * time.Microsecond

// latestPace is how late the schedule itself may be at p99. Where it is later, the
// machine has no room for the load beside the server, and latencies say nothing.
const latestPace = time.Millisecond

// openLoop sends requests on a constant schedule, each by whichever connection is
// free. A latency runs from the time at which the request was due, so that one which
// had to wait for a connection, or for us, shows it. The requests go out in turn.
func openLoop(ctx context.Context, s webload.Service, requests [][]byte, rate float64, o measure.Options) (*measure.Measurement, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now().Add(paceTick)
	warm := int64(rate * o.Warmup.Seconds())
	total := warm + max(1, int64(rate*o.Duration.Seconds()))
	due := make(chan int64, total) // room for all, so that the schedule never waits; closed by the pacer
	crew := &openCrew{requests: requests, due: due, began: began, rate: rate, warm: warm}
	var running sync.WaitGroup
	failures := make([]error, webload.Conns+1)
	times := make([]*hdrhistogram.Histogram, webload.Conns)
	for i := range webload.Conns {
		times[i] = measure.NewHistogram()
		running.Go(func() {
			if failures[i] = crew.serve(ctx, s.Addr(), times[i]); failures[i] != nil {
				cancel()
			}
		})
	}
	late := measure.NewHistogram()
	w, err := webload.OpenWindow(s)
	if err == nil {
		failures[webload.Conns] = crew.pace(ctx, due, total, late)
	} else {
		cancel()
		close(due)
	}
	running.Wait()
	if err := errors.Join(append(failures, err, ctx.Err())...); err != nil {
		return nil, err
	}
	if p99 := measure.LatencyOf(late).P99; p99 > latestPace {
		return nil, fmt.Errorf("the load itself was late, by %v at p99: %w", p99, errors.ErrUnsupported)
	}
	m, err := w.Close()
	if err != nil {
		return nil, err
	}
	m.Latency = measure.LatencyOf(measure.Merged(times))
	m.Ops = total
	return m, nil
}

// openCrew is what the connections of an open loop share.
type openCrew struct {
	requests [][]byte
	due      <-chan int64 // numbers of requests, in the order in which they are due
	began    time.Time
	rate     float64
	warm     int64 // requests before this one are not timed
}

// at is when a request is due.
func (c *openCrew) at(n int64) time.Time {
	return c.began.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
}

// pace hands out each request when it is due, and records how late it was itself.
func (c *openCrew) pace(ctx context.Context, due chan<- int64, total int64, late *hdrhistogram.Histogram) error {
	defer close(due)
	ticks, err := ticker.New(paceTick)
	if err != nil {
		return err
	}
	defer ticks.Stop()
	for n := int64(0); n < total && ctx.Err() == nil; {
		lag := time.Since(c.at(n))
		if lag < 0 {
			if err := ticks.Wait(); err != nil {
				return err
			}
			continue
		}
		due <- n
		if n >= c.warm {
			measure.Record(late, lag)
		}
		n++
	}
	return nil
}

// serve is one connection, until nothing is due any more.
func (c *openCrew) serve(ctx context.Context, addr string, times *hdrhistogram.Histogram) error {
	conn, err := lab.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	for n := range c.due {
		if err := conn.Exchange(c.requests[n%int64(len(c.requests))]); err != nil {
			return err
		}
		if n >= c.warm {
			measure.Record(times, time.Since(c.at(n)))
		}
	}
	return nil
}
