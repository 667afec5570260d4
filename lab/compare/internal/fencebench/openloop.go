package fencebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/load"
	"paddock/load/http1"
)

const (
	// latestPace is from when on a send counts as late by the load's own fault, and
	// lateShare the part of all sends that may be. Where more are, the machine has no
	// room for the load beside the server, and latencies say nothing.
	latestPace = time.Millisecond
	lateShare  = 0.01
)

// openLoop sends requests on a constant schedule, each by whichever connection is
// free. A latency runs from the time at which the request was due, so that one which
// had to wait for a connection, or for us, shows it. The requests go out in turn.
func openLoop(ctx context.Context, s webload.Service, requests *http1.Arena, rate float64, o measure.Options) (*measure.Measurement, error) {
	w, err := measure.StartMachineMeter(webload.Processes{s.Pid()})
	if err != nil {
		return nil, err
	}
	r, err := load.Run(ctx, load.Plan{
		Address: s.Addr(), Codec: &http1.Codec{Requests: requests}, Conns: webload.Conns,
		Arrivals: load.Constant{PerSecond: rate}, Warmup: o.Warmup, Duration: o.Duration, Tolerance: latestPace,
		Pace: load.Sleep, // to turn would take a processor from the server
	}, nil)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	m := &measure.Measurement{}
	if err := w.Stop(m); err != nil {
		return nil, err
	}
	t := &r.Total
	if n := t.Errors() + r.Unanswered.Count + r.Unanswered.Unsent; n > 0 {
		return nil, fmt.Errorf("%d of %d requests were not answered well: %v", n, t.Sent, r.Samples)
	}
	if own := t.Late[load.LoopLate] + t.Late[load.TimerLate]; float64(own) > lateShare*float64(t.Sent) {
		return nil, fmt.Errorf("the load itself was late, %d times of %d by more than %v: %w", own, t.Sent, latestPace, errors.ErrUnsupported)
	}
	m.Latency, m.Ops = measure.LatencyOf(t.Response), t.Done
	return m, nil
}
