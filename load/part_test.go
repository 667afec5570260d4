package load_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/load"
)

// Processes that have a part of a run each send together what one process sends: the same requests,
// by number, at the times at which they are due, over as many connections.
func TestParts(t *testing.T) {
	t.Parallel()
	address := serve(t, echo)
	for name, count := range map[string]int64{"by time": 0, "by count": 101} {
		t.Run(name, func(t *testing.T) {
			plan := load.Plan{
				Address: address, Codec: ping(8), Arrivals: load.Poisson{PerSecond: 1000, Seed: 3}, Conns: 7, Threads: 3,
				Duration: 300 * time.Millisecond, Count: count, Engine: load.Portable,
			}
			whole, conns, target := due(t, plan)
			var parts []time.Duration
			for _, p := range []struct{ first, threads int }{{0, 1}, {1, 2}} {
				plan.Threads, plan.Part = p.threads, load.Part{First: p.first, Of: 3}
				times, n, meant := due(t, plan)
				parts, conns, target = append(parts, times...), conns-n, target-meant
			}
			slices.Sort(parts)
			if len(whole) < 100 || !slices.Equal(parts, whole) || conns != 0 || count == 0 && (target > 100 || target < -100) {
				t.Errorf("%d requests in parts, of %d; %d connections and %v requests meant are missing", len(parts), len(whole), conns, target)
			}
		})
	}
}

// due makes a run, and returns when its requests were due.
func due(t *testing.T, plan load.Plan) (times []time.Duration, conns int, target float64) {
	t.Helper()
	var mu sync.Mutex
	plan.Each = func(int) func(*load.Outcome) {
		return func(o *load.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Duration(o.Due))
		}
	}
	r, err := load.Run(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(times)
	return times, len(r.PerConn), r.Total.Target
}

// A run begins when its plan says, and its times count from then, even if that has passed.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, in := range []time.Duration{50 * time.Millisecond, -50 * time.Millisecond} {
		begin := time.Now().Add(in)
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, echo), Codec: ping(8), Arrivals: load.Constant{PerSecond: 100}, Count: 1, Begin: begin, Engine: load.Portable,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Began.Equal(begin) || r.Total.Response.Min() < -in {
			t.Errorf("began %v after its time, and the first response took %v", r.Began.Sub(begin), r.Total.Response.Min())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := load.Run(ctx, load.Plan{Address: serve(t, echo), Codec: ping(8), Count: 1, Begin: time.Now().Add(time.Hour)}, nil)
	if ctx.Err() == nil || err == nil && (!r.Stopped || r.Total.Sent > 0) {
		t.Errorf("it did not wait until it was stopped: %+v, %v", r, err)
	}
}

// A part has threads of the run, each with a connection, and no listeners.
func TestPartCheck(t *testing.T) {
	for want, change := range map[string]func(*load.Plan){
		"":                                   func(*load.Plan) {},
		"2 connections for 4 threads":        func(p *load.Plan) { p.Conns = 2 },
		"2 threads from number 3 on, of 4":   func(p *load.Plan) { p.Part.First = 3 },
		"2 threads from number -1 on, of 4":  func(p *load.Plan) { p.Part.First = -1 },
		"of 4, with 1 listeners: no part of": func(p *load.Plan) { p.Listeners = 1 },
	} {
		p := load.Plan{Address: "a", Codec: ping(8), Count: 1, Conns: 4, Threads: 2, Part: load.Part{First: 2, Of: 4}}
		change(&p)
		if err := p.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
