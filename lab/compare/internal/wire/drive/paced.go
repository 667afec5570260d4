package drive

import (
	"context"
	"errors"
	"sync"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
	"paddock/load/histogram"
)

// paced sends small requests at a fixed rate, beside so many bulk streams. The
// window starts once the bulk streams have run through the warm-up.
func paced(ctx context.Context, s peers.Session, r Remote, o measure.Options, streams int) (*measure.Measurement, error) {
	callers, err := newCallers(ctx, s, PacedCallers)
	if err != nil {
		return nil, err
	}
	senders, err := openSenders(ctx, s.Bulk, streams, peers.BulkSize)
	if err != nil {
		return nil, err
	}
	bulk := startSenders(ctx, senders, peers.BulkSize)
	if _, err := keepPace(ctx, callers, o.Warmup); err != nil {
		_, stopped := bulk.stop()
		return nil, errors.Join(err, stopped)
	}
	m, err := measurePaced(ctx, callers, r, o.Duration)
	sent, stopped := bulk.stop()
	if err := errors.Join(err, stopped); err != nil {
		return nil, err
	}
	return m, r.Await((sent+int64(streams))*peers.BulkSize, settle)
}

// measurePaced runs the window. Its bytes are those of the streams.
func measurePaced(ctx context.Context, callers []measure.Call, r Remote, d time.Duration) (*measure.Measurement, error) {
	_, before, err := r.Received()
	if err != nil {
		return nil, err
	}
	meter, err := measure.StartMeter(r)
	if err != nil {
		return nil, err
	}
	m := &measure.Measurement{}
	if m.Latency, err = keepPace(ctx, callers, d); err != nil {
		return nil, err
	}
	if err := meter.Stop(m); err != nil {
		return nil, err
	}
	_, after, err := r.Received()
	m.Ops, m.Bytes = m.Latency.Count, after-before
	return m, err
}

// keepPace starts a request every Pace for d: the callers take turns, each on a
// schedule of its own, so that a slow answer delays no other caller's request.
func keepPace(ctx context.Context, callers []measure.Call, d time.Duration) (measure.Latency, error) {
	var (
		running    sync.WaitGroup
		failures   = make([]error, len(callers))
		histograms = make([]*histogram.Histogram, len(callers))
		began      = time.Now()
		period     = time.Duration(len(callers)) * Pace
	)
	for i, call := range callers {
		histograms[i] = histogram.New()
		running.Go(func() {
			first := began.Add(time.Duration(i) * Pace)
			failures[i] = callEvery(ctx, call, period, first, began.Add(d), histograms[i])
		})
	}
	running.Wait()
	return measure.LatencyOf(histograms...), errors.Join(failures...)
}

// callEvery starts a request each period. One that must wait for the answer to the one before is
// timed from when it should have started, so that a stall shows in all requests that it delays. How
// late the runtime wakes this goroutine for a start is not the connection's doing: the schedule
// goes on from there.
func callEvery(ctx context.Context, call measure.Call, period time.Duration, first, end time.Time, h *histogram.Histogram) error {
	for due := first; due.Before(end); due = due.Add(period) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
			due = time.Now()
		}
		if err := call(ctx); err != nil {
			return err
		}
		h.Record(int64(time.Since(due)))
	}
	return nil
}
