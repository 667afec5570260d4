package drive

import (
	"context"
	"errors"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/bench/internal/peers"
)

// paced sends small requests at a fixed rate, beside so many bulk streams. The
// window starts once the bulk streams have run through the warm-up.
func paced(ctx context.Context, s peers.Session, r Remote, o Options, streams int) (*Measurement, error) {
	callers, err := newCallers(ctx, s, 1)
	if err != nil {
		return nil, err
	}
	senders, err := openSenders(ctx, s.Bulk, streams, peers.BulkSize)
	if err != nil {
		return nil, err
	}
	bulk := startSenders(ctx, senders, peers.BulkSize)
	if err := callers[0].pacedFor(ctx, o.Warmup, newHistogram()); err != nil {
		_, stopped := bulk.stop()
		return nil, errors.Join(err, stopped)
	}
	m, h := &Measurement{}, newHistogram()
	err = measurePaced(ctx, callers[0], r, o.Duration, m, h)
	sent, stopped := bulk.stop()
	if err := errors.Join(err, stopped); err != nil {
		return nil, err
	}
	m.Ops = h.TotalCount()
	m.Latency = latencyOf(h)
	return m, r.Await(0, (sent+int64(streams))*peers.BulkSize, settle)
}

// measurePaced runs the window. Its bytes are those that came by the streams.
func measurePaced(ctx context.Context, c *caller, r Remote, d time.Duration, m *Measurement, h *hdrhistogram.Histogram) error {
	_, before, err := r.Received()
	if err != nil {
		return err
	}
	meter, err := startMeter(r)
	if err != nil {
		return err
	}
	if err := c.pacedFor(ctx, d, h); err != nil {
		return err
	}
	if err := meter.stop(m); err != nil {
		return err
	}
	_, after, err := r.Received()
	m.Bytes = after - before
	return err
}

// pacedFor starts a request every Pace. One that must wait for the one before is
// timed from when it should have started, so that a stall shows in all requests
// that it delays. How late the runtime wakes this goroutine for a start is not
// the connection's doing: the schedule goes on from there.
func (c *caller) pacedFor(ctx context.Context, d time.Duration, h *hdrhistogram.Histogram) error {
	end := time.Now().Add(d)
	for due := time.Now(); due.Before(end); due = due.Add(Pace) {
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
			due = time.Now()
		}
		if err := c.call(ctx); err != nil {
			return err
		}
		record(h, time.Since(due))
	}
	return nil
}
