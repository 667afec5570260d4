package cli

import (
	"context"
	"strings"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/lab/internal/scenario"
	"paddock/lab/internal/scenario/tunneled"
)

const (
	// lookEvery is the interval at which the levels are read until the tunnel is at rest, and
	// peakEvery the interval under load.
	lookEvery, peakEvery = 200 * time.Millisecond, time.Second
	// kept is how many connections to targets a client keeps for the next visitors: four to
	// the service, and one to that of the other tunnel.
	kept = 5
	// few is the part of a count that may vary: 5 %, or one. The resident set may be 10 % larger,
	// because free memory is returned in pieces.
	few, fewBytes = 0.05, 0.10
	// residentFrom is how long a load must be for the resident set to be judged: before, the
	// runtime has not come to rest itself.
	residentFrom = 20 * time.Second
)

// restWatch reads the levels of both sides of a tunnel.
type restWatch struct {
	stand  *tunneled.Stand
	length time.Duration // of the load
	before tunneled.Sides
	peak   tunneled.Sides

	server, client scenario.Slope // of the resident set under the load
}

// rested waits until no request is in flight and the connections of the load have been closed, and
// records the levels at rest.
func (w *restWatch) rested(ctx context.Context) (err error) {
	for began := time.Now(); ; {
		if w.before, err = w.stand.Levels(ctx); err != nil {
			return err
		}
		at := &w.before
		if at.Server.Exchanges+at.Server.Streams+at.Client.Exchanges == 0 && at.Client.Backends <= kept || time.Since(began) > scenario.IdleWithin {
			w.peak = w.before
			return nil
		}
		if err := lifecycle.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// run keeps the most that is held, and how that goes, until ctx ends.
func (w *restWatch) run(ctx context.Context) {
	for began := time.Now(); lifecycle.Sleep(ctx, peakEvery) == nil; {
		now, err := w.stand.Levels(ctx)
		if err != nil {
			continue
		}
		w.peak.Most(&now)
		w.server.Add(time.Since(began), now.Server.Resident)
		w.client.Add(time.Since(began), now.Client.Resident)
	}
}

// await reads the levels until they are back at those before the load, or the time is up.
func (w *restWatch) await(ctx context.Context, o *scenario.Overload) error {
	for began := time.Now(); ; {
		now, err := w.stand.Levels(ctx)
		if err != nil {
			return err
		}
		o.Levels, o.Idle = w.levels(&now), time.Since(began)
		if o.AtRest() || o.Idle >= scenario.IdleWithin {
			return nil
		}
		if err := lifecycle.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// held lists the levels: how much more, or how many more, there may be afterwards.
var held = []struct {
	name        string
	more, least float64
	perBackend  bool // besides, one for each connection that is kept now and was not before
	of          func(*tunneled.Sides) float64
}{
	{"goroutines of the server", few, 1, false, func(s *tunneled.Sides) float64 { return s.Server.Goroutines }},
	{"goroutines of the client", few, 1, true, func(s *tunneled.Sides) float64 { return s.Client.Goroutines }},
	{"descriptors of the server", few, 1, false, func(s *tunneled.Sides) float64 { return s.Server.Descriptors }},
	{"descriptors of the client", few, 1, true, func(s *tunneled.Sides) float64 { return s.Client.Descriptors }},
	{"permits of requests", few, 0, false, func(s *tunneled.Sides) float64 { return s.Server.Exchanges }},
	{"streams", few, 0, false, func(s *tunneled.Sides) float64 { return s.Server.Streams }},
	{"waiting requests", few, 0, false, func(s *tunneled.Sides) float64 { return s.Server.Queued }},
	{"exchanges of the client", few, 0, false, func(s *tunneled.Sides) float64 { return s.Client.Exchanges }},
	{"backend connections", 0, 0, true, func(s *tunneled.Sides) float64 { return s.Client.Backends }},
	{"accounted bytes of the server", fewBytes, 0, false, func(s *tunneled.Sides) float64 { return s.Server.Bytes }},
	{"accounted bytes of the client", fewBytes, 0, false, func(s *tunneled.Sides) float64 { return s.Client.Bytes }},
	{"resident bytes of the server", fewBytes, 0, false, func(s *tunneled.Sides) float64 { return s.Server.Resident }},
	{"resident bytes of the client", fewBytes, 0, false, func(s *tunneled.Sides) float64 { return s.Client.Resident }},
}

// levels returns all of them, with their present values.
func (w *restWatch) levels(now *tunneled.Sides) (all []scenario.Level) {
	for _, h := range held {
		l := scenario.Level{
			Name: h.name, Before: h.of(&w.before), Peak: max(h.of(&w.peak), h.of(now)), After: h.of(now),
			Bytes: h.more == fewBytes, More: h.more, Least: h.least,
			Unjudged: w.length < residentFrom && strings.HasPrefix(h.name, "resident"),
		}
		if h.perBackend {
			l.Least += max(min(now.Client.Backends, kept)-w.before.Client.Backends, 0)
		}
		all = append(all, l)
	}
	return all
}
