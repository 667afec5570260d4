package main

import (
	"context"
	"strings"
	"time"

	"paddock/internal/lab/httptunnel"
	"paddock/internal/lab/tunneled"
)

const (
	// lookEvery is how often it is looked whether the tunnel is at rest, and peakEvery how
	// often what it holds under load.
	lookEvery, peakEvery = 200 * time.Millisecond, time.Second
	// kept is how many connections to targets a client keeps for the next visitors: four to
	// the service, and one to that of the other tunnel.
	kept = 5
	// few is how much of a count comes and goes: 5 %, or one, or two goroutines. The resident set may be 10 %
	// larger, as what is free is given back in pieces.
	few, fewBytes = 0.05, 0.10
	// residentFrom is how long a load must be for the resident set to be judged: before, the
	// runtime has not come to rest itself.
	residentFrom = 20 * time.Second
)

// restWatch looks at what both sides of a tunnel hold.
type restWatch struct {
	stand  *tunneled.Stand
	length time.Duration // of the load
	before tunneled.Sides
	peak   tunneled.Sides
}

// rested waits until nothing is under way and a crowd's connections have gone, which is what
// is at rest.
func (w *restWatch) rested(ctx context.Context) (err error) {
	for began := time.Now(); ; {
		if w.before, err = w.stand.Levels(ctx); err != nil {
			return err
		}
		at := &w.before
		if at.Server.Exchanges+at.Server.Streams+at.Client.Exchanges == 0 && at.Client.Backends <= kept || time.Since(began) > httptunnel.IdleWithin {
			w.peak = w.before
			return nil
		}
		if err := pauseFor(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// run keeps the most that is held until ctx ends.
func (w *restWatch) run(ctx context.Context) {
	for pauseFor(ctx, peakEvery) == nil {
		if now, err := w.stand.Levels(ctx); err == nil {
			w.peak.Most(&now)
		}
	}
}

// await looks until both sides hold what they held before, or should have.
func (w *restWatch) await(ctx context.Context, o *httptunnel.Overload) error {
	for began := time.Now(); ; {
		now, err := w.stand.Levels(ctx)
		if err != nil {
			return err
		}
		o.Levels, o.Idle = w.levels(&now), time.Since(began)
		if o.AtRest() || o.Idle >= httptunnel.IdleWithin {
			return nil
		}
		if err := pauseFor(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// levels are all of them, with what they are now.
func (w *restWatch) levels(now *tunneled.Sides) (all []httptunnel.Level) {
	add := func(name string, more, least float64, of func(*tunneled.Sides) float64) {
		all = append(all, httptunnel.Level{
			Name: name, Before: of(&w.before), Peak: max(of(&w.peak), of(now)), After: of(now), Bytes: more == fewBytes, More: more, Least: least,
			Unjudged: w.length < residentFrom && strings.HasPrefix(name, "resident"),
		})
	}
	add("goroutines of the server", few, 2, func(s *tunneled.Sides) float64 { return s.Server.Goroutines })
	add("goroutines of the client", few, 2, func(s *tunneled.Sides) float64 { return s.Client.Goroutines })
	add("descriptors of the server", few, 1, func(s *tunneled.Sides) float64 { return s.Server.Descriptors })
	add("descriptors of the client", few, 1, func(s *tunneled.Sides) float64 { return s.Client.Descriptors })
	add("permits of requests", few, 0, func(s *tunneled.Sides) float64 { return s.Server.Exchanges })
	add("streams", few, 0, func(s *tunneled.Sides) float64 { return s.Server.Streams })
	add("waiting requests", few, 0, func(s *tunneled.Sides) float64 { return s.Server.Queued })
	add("exchanges of the client", few, 0, func(s *tunneled.Sides) float64 { return s.Client.Exchanges })
	add("backend connections", few, 0, func(s *tunneled.Sides) float64 { return s.Client.Backends })
	add("accounted bytes of the server", fewBytes, 0, func(s *tunneled.Sides) float64 { return s.Server.Bytes })
	add("accounted bytes of the client", fewBytes, 0, func(s *tunneled.Sides) float64 { return s.Client.Bytes })
	add("resident bytes of the server", fewBytes, 0, func(s *tunneled.Sides) float64 { return s.Server.Resident })
	add("resident bytes of the client", fewBytes, 0, func(s *tunneled.Sides) float64 { return s.Client.Resident })
	return all
}

// pauseFor waits, or gives the error of ctx.
func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
