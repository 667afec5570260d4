package load_test

import (
	"strings"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// healthy is the result of ten seconds at 1,000 requests a second, each answered in 2 ms.
func healthy() *load.Result {
	r := &load.Result{Elapsed: 10 * time.Second, Total: load.Interval{
		Length: 10 * time.Second, Sent: 10_000, Done: 10_000, InFlight: 2,
		Response: histogram.New(), Service: histogram.New(), Lag: histogram.New(),
		Threads: []load.ThreadUse{
			{Wall: 10 * time.Second, CPU: 2 * time.Second, Waited: 8 * time.Second, Wakes: 9_000, Events: 5_000},
			{Wall: 10 * time.Second, CPU: time.Second, Waited: 9 * time.Second, Wakes: 9_000, Events: 5_000},
		},
	}}
	r.Total.Failed[load.ClassOK] = 10_000
	r.Total.Late[load.OnTime] = 10_000
	r.Total.Response.RecordN(int64(2*time.Millisecond), 10_000)
	r.Total.Service.RecordN(int64(2*time.Millisecond), 10_000)
	r.Machine = load.MachineUse{Processors: 2, Busy: 10 * time.Second, Idle: 10 * time.Second}
	return r
}

func late(r *load.Result, c load.Cause, n int64, each time.Duration) {
	r.Total.Late[load.OnTime] -= n
	r.Total.Late[c] += n
	r.Total.LateTime[c] += time.Duration(n) * each
}

func TestVerdict(t *testing.T) {
	open := load.Plan{Arrivals: load.Constant{PerSecond: 1000}, Tolerance: time.Millisecond}
	closed := load.Plan{Tolerance: time.Millisecond}
	for _, c := range []struct {
		name    string
		plan    load.Plan
		spoil   func(*load.Result)
		verdict load.Level
		cause   string // of the worst measure; "" = none
	}{
		{"healthy", open, func(*load.Result) {}, load.Green, ""},
		{"healthy, closed", closed, func(*load.Result) {}, load.Green, ""},
		{"full speed against a slower service", closed, func(r *load.Result) {
			r.Total.Threads[0] = load.ThreadUse{Wall: 10 * time.Second, CPU: 7 * time.Second, Waited: 3 * time.Second}
		}, load.Green, ""},
		{"a thread at 100 %", closed, func(r *load.Result) {
			r.Total.Threads[1] = load.ThreadUse{Wall: 10 * time.Second, CPU: 9_900 * time.Millisecond}
		}, load.Red, "thread-busy"},
		{"a thread at 85 %", closed, func(r *load.Result) {
			r.Total.Threads[1] = load.ThreadUse{Wall: 10 * time.Second, CPU: 8_500 * time.Millisecond, Waited: 1_500 * time.Millisecond}
		}, load.Amber, "thread-busy"},
		{"a thread that spins", open, func(r *load.Result) {
			r.Total.Threads[0] = load.ThreadUse{Wall: 10 * time.Second, CPU: 10 * time.Second, Spun: 7 * time.Second}
		}, load.Green, ""},
		{"a thread of which only the waits are known", closed, func(r *load.Result) {
			r.Total.Threads[0] = load.ThreadUse{Wall: 10 * time.Second, Waited: 300 * time.Millisecond}
		}, load.Red, "thread-busy"},
		{"a pool of two", open, func(r *load.Result) { late(r, load.ConnWait, 9_000, time.Second) }, load.Green, ""},
		{"late by the loop", open, func(r *load.Result) { late(r, load.LoopLate, 2_000, 3*time.Millisecond) }, load.Red, "loop-late"},
		{"late by the timer", open, func(r *load.Result) { late(r, load.TimerLate, 200, 2*time.Millisecond) }, load.Amber, "timer-late"},
		{"now and then late", open, func(r *load.Result) { late(r, load.LoopLate, 10, 3*time.Millisecond) }, load.Green, ""},
		{"late by two causes, neither alone amber", open, func(r *load.Result) {
			late(r, load.LoopLate, 70, 2*time.Millisecond)
			late(r, load.TimerLate, 60, 2*time.Millisecond)
		}, load.Amber, "loop-late"},
		{"a script that does not keep up", open, func(r *load.Result) { late(r, load.Script, 5_000, 5*time.Millisecond) }, load.Red, "script"},
		{"another on the same core", closed, func(r *load.Result) {
			r.Total.Threads[0].Ready, r.Total.Threads[0].Waited = 4*time.Second, 4*time.Second
		}, load.Red, "run-delay"},
		{"another that is hardly felt", closed, func(r *load.Result) { r.Total.Threads[0].Ready = 60 * time.Millisecond }, load.Green, ""},
		{"work for a processor, of which another has half", closed, func(r *load.Result) {
			r.Total.Threads[0] = load.ThreadUse{Wall: 10 * time.Second, CPU: 5 * time.Second, Ready: 5 * time.Second, Wakes: 1e6, Events: 1e6}
		}, load.Red, "held-up"},
		{"goroutines that take all processors", closed, func(r *load.Result) {
			r.Engine, r.Machine.User, r.Machine.System = load.Portable, 12*time.Second, 8*time.Second
		}, load.Red, "process-busy"},
		{"stopped now and then", closed, func(r *load.Result) { r.Total.Threads[0].Waited = 6 * time.Second }, load.Red, "held-up"},
		{"a quota", closed, func(r *load.Result) { r.Machine.Throttled = 2 * time.Second }, load.Red, "quota"},
		{"a quota that is hardly felt", closed, func(r *load.Result) { r.Machine.Throttled = 20 * time.Millisecond }, load.Amber, "quota"},
		{"steal", closed, func(r *load.Result) { r.Machine.Steal = 9 * time.Second }, load.Red, "steal"},
		{"some steal", closed, func(r *load.Result) { r.Machine.Steal = 2 * time.Second }, load.Amber, "steal"},
		{"collections", closed, func(r *load.Result) { r.Machine.GCPause = time.Second }, load.Red, "gc-pause"},
		{"one port too few", closed, func(r *load.Result) { r.Total.Failed[load.ClassPorts] = 1 }, load.Amber, "out-of-ports"},
		{"no descriptors", closed, func(r *load.Result) { r.Total.Failed[load.ClassFiles] = 5_000 }, load.Red, "out-of-files"},
		{"errors of the service", closed, func(r *load.Result) { r.Total.Failed[load.ClassReset] = 5_000 }, load.Green, ""},
		{"nothing", closed, func(r *load.Result) {
			r.Total = load.Interval{Response: histogram.New(), Service: histogram.New(), Lag: histogram.New()}
		}, load.Red, "nothing-measured"},
		{"nothing, open", open, func(r *load.Result) {
			*r = load.Result{Total: load.Interval{Response: histogram.New(), Service: histogram.New(), Lag: histogram.New()}}
		}, load.Red, "nothing-measured"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := healthy()
			c.spoil(r)
			verdict := load.Judge(&c.plan, r)
			worst := ""
			if causes := verdict.Causes(); len(causes) > 0 {
				worst = causes[0].Name
			}
			if verdict.Level != c.verdict || worst != c.cause {
				t.Errorf("%v by %q, want %v by %q", &verdict, worst, c.verdict, c.cause)
			}
			if !strings.HasPrefix(verdict.String(), strings.ToUpper(c.verdict.String())) {
				t.Errorf("it says %q", verdict.String())
			}
		})
	}
}

func TestLittle(t *testing.T) {
	v := &healthy().Total
	for _, c := range []struct {
		inFlight float64
		holds    bool
	}{{2, true}, {1.97, true}, {2.03, true}, {1.9, false}, {2.2, false}} {
		v.InFlight = c.inFlight
		l, ok := load.CheckLittle(v)
		if !ok || l.Holds != c.holds || l.Rate != 1000 {
			t.Errorf("in flight %v: %+v, %v", c.inFlight, l, ok)
		}
	}
	if _, ok := load.CheckLittle(&load.Interval{Service: histogram.New(), Length: time.Second}); ok {
		t.Error("nothing was measured, and yet it was checked")
	}
}

// Little's law holds for the counts of the engines, which also report the use of their threads.
func TestLittleOfRuns(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		r, err := load.Run(t.Context(), load.Plan{
			Address: serve(t, echo), Codec: ping(64), Conns: 4, Depth: 3, Count: 5_000, Engine: e,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if l, ok := load.CheckLittle(&r.Total); !ok || !l.Holds {
			t.Errorf("%+v, %v", l, ok)
		}
		for _, u := range r.Total.Threads {
			if u.Wall <= 0 || u.Waited < 0 || u.Ready < 0 || u.Held() < 0 || u.Waited > u.Wall || u.Busy() <= 0 || u.Spun > u.CPU {
				t.Errorf("a thread did %+v", u)
			}
		}
	})
}
