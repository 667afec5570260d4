package load_test

import (
	"sync/atomic"
	"testing"
	"time"

	"paddock/load"
)

// script is a codec of which each second request, and each second pause, has to be asked
// for some times before there is one.
type script struct {
	load.Raw
	pause  time.Duration
	refuse int          // times
	most   int64        // requests of a thread; 0 = no bound
	asked  atomic.Int64 // requests, including the ones that did not exist yet
}

func (s *script) Thread(int, int) load.Thread {
	t := &scriptThread{script: s, raw: s.Raw.Thread(0, 1)}
	if s.pause == 0 {
		return struct{ load.Thread }{t} // which is no load.Pauser
	}
	return t
}

type scriptThread struct {
	*script
	raw           load.Thread
	made          int64
	refusals      int // of the next request
	pauseRefusals int
}

func (t *scriptThread) Session() load.Session { return &scriptSession{t.raw.Session(), t} }

func (t *scriptThread) Pause() (time.Duration, error) {
	if t.pauseRefusals++; t.pauseRefusals <= t.refuse {
		return 0, load.ErrNotYet
	}
	t.pauseRefusals = 0
	return t.pause, nil
}

type scriptSession struct {
	load.Session
	*scriptThread
}

func (s *scriptSession) Request(r *load.Request) error {
	s.asked.Add(1)
	if s.most > 0 && s.made == s.most {
		return load.ErrOver
	}
	if s.refusals++; s.made%2 == 1 && s.refusals <= s.refuse {
		return load.ErrNotYet
	}
	s.refusals = 0
	s.made++
	return s.Session.Request(r)
}

// Requests that are not made in time are sent when they are, late for that cause, and none
// is lost or sent twice; in a closed run and in an open one.
func TestNotYet(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		for name, arrivals := range map[string]load.Arrivals{"closed": nil, "open": load.Constant{PerSecond: 10_000}} {
			t.Run(name, func(t *testing.T) {
				c := &script{Raw: *ping(8), refuse: 3}
				r, err := load.Run(t.Context(), load.Plan{
					Address: serve(t, echo), Codec: c, Conns: 3, Depth: 2, Count: 101, Arrivals: arrivals, Tolerance: 1, Engine: e,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				v := &r.Total
				if v.Sent != 101 || v.Done != 101 || v.Errors() != 0 || r.Unanswered != (load.Unanswered{}) {
					t.Errorf("%d sent, %d answered, %v, %+v", v.Sent, v.Done, v.Failed, r.Unanswered)
				}
				if v.Late[load.Script] < 50 || c.asked.Load() < 101+50*3 {
					t.Errorf("late: %v, asked for %d", v.Late, c.asked.Load())
				}
				if v.Response.Max() < v.Service.Max() || v.Lag.Max() == 0 {
					t.Errorf("response %v, service %v, lag %v", v.Response.Max(), v.Service.Max(), v.Lag.Max())
				}
			})
		}
	})
}

// A connection pauses before each request, the first one too, and the pause is no part of
// the response time.
func TestPauser(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		const pause = 20 * time.Millisecond
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, echo), Codec: &script{Raw: *ping(8), pause: pause, refuse: 2}, Conns: 2, Count: 10, Engine: e,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v := &r.Total; v.Done != 10 || v.Errors() != 0 || v.Length < 5*pause {
			t.Errorf("%d answered in %v, %v", v.Done, v.Length, v.Failed)
		}
	})
}

// When the threads have had all their requests the run is over.
func TestOver(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		for name, arrivals := range map[string]load.Arrivals{"closed": nil, "open": load.Constant{PerSecond: 10_000}} {
			t.Run(name, func(t *testing.T) {
				r, err := load.Run(t.Context(), load.Plan{
					Address: serve(t, echo), Codec: &script{Raw: *ping(8), most: 7}, Conns: 4, Threads: 2, Duration: time.Hour, Arrivals: arrivals, Engine: e,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if v := &r.Total; v.Sent != 14 || v.Done != 14 || v.Errors() != 0 {
					t.Errorf("%d sent, %d answered, %v", v.Sent, v.Done, v.Failed)
				}
			})
		}
	})
}

// windows sums up the windows of a run.
type windows struct {
	done   int64
	length time.Duration
	list   int
}

func (w *windows) Interval(v *load.Interval) {
	for _, x := range v.Windows {
		w.done += x.Done
		w.length += x.Length
		w.list++
	}
}

// The windows hold the answers of a run, up to the one that the end cuts.
func TestWindows(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		var w windows
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, echo), Codec: &script{Raw: *ping(8), pause: time.Millisecond}, Conns: 2, Threads: 2, Duration: 1200 * time.Millisecond, Engine: e,
		}, &w)
		if err != nil {
			t.Fatal(err)
		}
		if w.done == 0 || w.done > r.Total.Done || w.length > 2*r.Total.Length || w.list > 2*13 || len(r.Total.Windows) != 0 {
			t.Errorf("%+v of %d answers in %v", w, r.Total.Done, r.Total.Length)
		}
	})
}
