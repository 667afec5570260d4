package fencebench

import (
	"context"
	"errors"
	"sync"
	"time"

	"paddock/bench/internal/measure"
	"paddock/bench/internal/ticker"
	"paddock/bench/internal/webload"
	"paddock/internal/lab"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// paceTick is how often the schedule is looked at; half of it is in every latency,
// whichever the server.
const paceTick = 50 * time.Microsecond

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
	w, err := webload.OpenWindow(s)
	if err == nil {
		failures[webload.Conns] = crew.pace(ctx, due, total)
	} else {
		cancel()
		close(due)
	}
	running.Wait()
	if err := errors.Join(append(failures, err, ctx.Err())...); err != nil {
		return nil, err
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

// pace hands out each request when it is due.
func (c *openCrew) pace(ctx context.Context, due chan<- int64, total int64) error {
	defer close(due)
	ticks, err := ticker.New(paceTick)
	if err != nil {
		return err
	}
	defer ticks.Stop()
	for n := int64(0); n < total && ctx.Err() == nil; {
		if time.Now().Before(c.at(n)) {
			if err := ticks.Wait(); err != nil {
				return err
			}
			continue
		}
		due <- n
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
