package responder_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"paddock/lab/responder"
	"paddock/load"
	"paddock/load/http1"
)

// engines runs f with each engine that the machine has.
func engines(t *testing.T, f func(t *testing.T, e load.Engine)) {
	for name, e := range map[string]load.Engine{"epoll": load.Epoll, "portable": load.Portable} {
		t.Run(name, func(t *testing.T) { f(t, e) })
	}
}

// serve serves until the test ends, or until it calls stop.
func serve(t *testing.T, c responder.Config) (s *responder.Service, stop func() *responder.Did) {
	t.Helper()
	s, err := responder.Serve(c)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = func() *responder.Did {
		t.Helper()
		did, err := s.Close()
		if err != nil {
			t.Error(err)
		}
		return did
	}
	t.Cleanup(func() { stop() })
	return s, stop
}

// codec asks for paths that tell which request it is.
func codec(t *testing.T, address string) load.Codec {
	t.Helper()
	requests, err := http1.Compile([]http1.Request{{URL: "http://" + address + "/{{seq}}"}}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &http1.Codec{Requests: requests}
}

// The quantiles that are held against the truth, and how far off they may be.
var quantiles = []float64{0.5, 0.75, 0.9, 0.99, 0.999, 0.9999}

const tolerated = 0.01

// The response times of an open run are those of the service, at every percentile, although the
// service stands still for most of the time. Two references are known: the formula, and the journal
// of the service, which is right also on a machine that held the service up.
//
// No answer arrives before it is sent, so the numbers of the generator are never below the
// reference. They are above it by the time that the machine takes to wake the generator: of several
// runs one has to be close, unless the verdict of a run declares it unreliable.
func TestFrozen(t *testing.T) {
	const perSecond = 2000
	engines(t, func(t *testing.T, e load.Engine) {
		believed := true
		for range 5 {
			law := &responder.Queue{PerSecond: 10_000, Frozen: 500 * time.Millisecond, Every: 800 * time.Millisecond}
			plan := load.Plan{
				Arrivals: load.Constant{PerSecond: perSecond}, Duration: 2 * law.Every, Conns: 64, Engine: e,
			}
			r, truth, behind := frozenRun(t, &plan, law)
			verdict := load.Judge(&plan, r)
			close := true
			for _, p := range quantiles {
				got, want, formula := r.Total.Response.Quantile(p), quantile(truth, p), law.Response(p, perSecond)
				t.Logf("%v: p%v is %v, in truth %v, by the formula %v, begun %v late", verdict.Level, 100*p, got, want, formula, behind)
				if got < want {
					t.Errorf("p%v is %v, but the service took %v", 100*p, got, want)
				}
				// The formula is no matter where the service itself was held up. The periods may
				// have begun late, but no later than the first request came.
				asItSays := func(x time.Duration, share float64) bool {
					return near(formula, x, share) || near(formula+behind, x, share) || formula < x && x < formula+behind
				}
				close = close && near(want, got, tolerated) && (asItSays(got, tolerated) || !asItSays(want, tolerated/2))
			}
			if close || t.Failed() {
				return
			}
			believed = believed && verdict.Level == load.Green
		}
		if !believed {
			t.Skip("the machine is too busy to measure on, and the runs say so")
		}
		t.Errorf("no run is within %v of the truth, and all say that they are", tolerated)
	})
}

// frozenRun makes a run, and gives the response times that it must find, sorted, and how
// much later than due the first request came, with which the periods of the law begin.
func frozenRun(t *testing.T, plan *load.Plan, law *responder.Queue) (_ *load.Result, truth []time.Duration, behind time.Duration) {
	t.Helper()
	n := int(plan.Arrivals.Rate(0) * plan.Duration.Seconds())
	s, stop := serve(t, responder.Config{Law: law, Journal: n})
	plan.Address, plan.Codec = s.Addr, codec(t, s.Addr)
	r, err := load.Run(t.Context(), *plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	did := stop()
	if int(r.Total.Failed[load.ClassOK]) != n || len(did.Journal) != n || did.Omitted != 0 {
		t.Fatalf("%d of %d requests were answered, of which the service knows %d; %v", r.Total.Failed[load.ClassOK], n, len(did.Journal), r.Samples)
	}
	began := s.Began.Sub(r.Began)
	due := plan.Arrivals.Stripe(0, 1)
	slices.SortFunc(did.Journal, func(a, b responder.Entry) int { return int(a.Number - b.Number) })
	behind = began + did.Journal[0].Arrived
	for i, e := range did.Journal {
		at, _ := due.Next()
		if e.Number != int64(i) || e.Due < e.Arrived || e.Answered < e.Due {
			t.Fatalf("request %d: %+v", i, e)
		}
		truth = append(truth, began+e.Answered-at)
	}
	slices.Sort(truth)
	return r, truth, behind
}

// quantile is that of sorted times.
func quantile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(int(math.Ceil(p*float64(len(sorted))))-1, 0)]
}
