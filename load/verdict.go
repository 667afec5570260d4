package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Level says how far a run's numbers may be believed.
type Level uint8

// The verdicts, from the best to the worst.
const (
	Green Level = iota // the numbers are the service's
	Amber              // the generator may have had a part in them
	Red                // the generator set them: rates are lower bounds, times upper ones
)

var levelNames = [...]string{"green", "amber", "red"}

// String is the verdict's name in reports.
func (v Level) String() string { return nameOf(levelNames[:], v) }

// Verdict states whether the numbers of a run are the service's or were set by the generator, with
// the measures that it is derived from.
//
// A late send of an open run has a cause (see [Cause]); causes on the generator's side are compared
// with the response times. In a closed run a send is late only after a pause of its connection
// (Plan.Think, [Pauser]), or if the next request is not made yet ([Script]). In every run the
// verdict also depends on the threads: a thread that computes all the time delays the service's
// answers, and so does a thread that the system did not run. A pool of connections that is too
// small, and a slow service, are not the generator's doing.
type Verdict struct {
	Level    Level
	Measures []Measure // everything that could be judged, the worst first
}

// Measure is one input of a verdict: a share from 0 to 1, or a lag relative to the duration that it
// is compared with, which may be above 1.
type Measure struct {
	Name       string
	Value      float64
	Amber, Red float64 // from where on the verdict is so
	Level      Level
	Text       string // with the numbers
}

// bounds are from where on a measure is amber and red.
type bounds struct{ amber, red float64 }

// The measures' bounds.
var (
	// A hundredth of the p99 is less than the difference between two runs; a twentieth is a
	// difference that comparisons look for.
	lagBounds = bounds{0.01, 0.05}
	// A thread that is busy for more than four fifths of the time has a queue of work now and
	// then. At 95 % it always has one.
	cpuBounds   = bounds{0.80, 0.95}
	heldBounds  = bounds{0.02, 0.10}
	stealBounds = bounds{0.05, 0.25}
	quotaBounds = bounds{0.001, 0.05}
	gcBounds    = bounds{0.002, 0.02}
	// Missing ports or descriptors on this machine are never the service's fault: one failure is
	// amber.
	scarceBounds = bounds{0.0001, 0.01}
)

// Judge returns the verdict of a run. A run of several processes has that of its worst process.
func Judge(p *Plan, r *Result) Verdict {
	var l Verdict
	if r.Total.Done == 0 {
		l.judge("nothing-measured", 1, bounds{1, 1}, "no request was answered")
	}
	if r.Verdicts == nil {
		l.judgeProcess(p, r)
	}
	for _, v := range r.Verdicts {
		for _, m := range v.Measures {
			l.judge(m.Name, m.Value, bounds{m.Amber, m.Red}, "%s", m.Text)
		}
	}
	slices.SortStableFunc(l.Measures, func(a, b Measure) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(b.Value/b.Red, a.Value/a.Red))
	})
	return l
}

// judgeProcess judges a run by what was measured in this process.
func (l *Verdict) judgeProcess(p *Plan, r *Result) {
	if p.Arrivals != nil || r.Total.Lag != nil && r.Total.Lag.Max() > 0 {
		l.judgeLag(p, r)
	}
	for i, u := range r.Total.Threads {
		l.judgeThread(i, u, r.Total.Response.Quantile(0.99))
	}
	l.judgeMachine(r)
	l.judgeScarce(r)
}

// judge adds a measure. Of those with one name the worst is kept: a run is as good as the
// worst of its threads.
func (l *Verdict) judge(name string, value float64, b bounds, text string, args ...any) {
	m := Measure{Name: name, Value: value, Amber: b.amber, Red: b.red, Text: fmt.Sprintf(text, args...)}
	switch {
	case value >= b.red:
		m.Level = Red
	case value >= b.amber:
		m.Level = Amber
	}
	l.Level = max(l.Level, m.Level)
	at := slices.IndexFunc(l.Measures, func(m Measure) bool { return m.Name == name })
	switch {
	case at < 0:
		l.Measures = append(l.Measures, m)
	case l.Measures[at].Value < value:
		l.Measures[at] = m
	}
}

// judgeLag compares the mean lag that the generator itself added to a request with the p99 of the
// response times. The measure has the name of the cause that added most.
func (l *Verdict) judgeLag(p *Plan, r *Result) {
	v := &r.Total
	p99 := v.Response.Quantile(0.99)
	if v.Sent == 0 || p99 == 0 {
		return
	}
	var own time.Duration
	var late int64
	most := LoopLate
	for _, c := range []Cause{LoopLate, TimerLate, Script} {
		own += v.LateTime[c]
		late += v.Late[c]
		if v.LateTime[c] > v.LateTime[most] {
			most = c
		}
	}
	mean := float64(own) / float64(v.Sent)
	l.judge(most.String(), mean/float64(p99), lagBounds,
		"%d of %d requests were sent more than %v late by the generator's own doing, which is %v each in the mean of all, where the p99 is %v",
		late, v.Sent, p.Tolerance, time.Duration(mean), p99)
}

// judgeThread judges the use of thread i. A wake-up takes some time on any machine, so the time
// that the thread waits for a processor is compared like a lag, by its mean length.
func (l *Verdict) judgeThread(i int, u ThreadUse, p99 time.Duration) {
	if u.Wall <= 0 {
		return
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(u.Wall) }
	l.judge("thread-busy", share(u.Busy()+u.Ready), cpuBounds, "thread %d was at work, or could have been, for %s of the time",
		i, percent(share(u.Busy()+u.Ready)))
	if u.CPU == 0 {
		return // nothing more is known of it
	}
	if p99 > 0 {
		each := u.Ready / time.Duration(max(min(u.Wakes, u.Events), 1))
		l.judge("run-delay", float64(each)/float64(p99), lagBounds,
			"thread %d waited for a processor for %v each time that there was something to do, where the p99 is %v", i, each, p99)
	}
	l.judge("held-up", share(u.Held()), heldBounds,
		"thread %d was neither at work nor waiting as it meant to for %s of the time: it was not let run", i, percent(share(u.Held())))
}

// judgeMachine judges how much of the machine the process used and how much others took from it,
// including the warm-up and the grace.
func (l *Verdict) judgeMachine(r *Result) {
	wall := float64(r.Warmup + r.Total.Length)
	if wall <= 0 {
		return
	}
	m := &r.Machine
	if r.Engine == Portable && m.Processors > 0 { // whose connections have goroutines of their own
		busy := float64(m.User+m.System) / wall / float64(m.Processors)
		l.judge("process-busy", busy, cpuBounds, "the generator took %s of the %d processors that it could use", percent(busy), m.Processors)
	}
	if m.Busy > 0 { // else it is not known
		steal := float64(m.Steal) / float64(m.Busy+m.Idle+m.Steal)
		l.judge("steal", steal, stealBounds, "other virtual machines took %s of the processors' time", percent(steal))
	}
	quota := float64(m.Throttled) / wall
	l.judge("quota", quota, quotaBounds, "the control group's CPU quota held the process for %v", m.Throttled)
	pause := float64(m.GCPause) / wall
	l.judge("gc-pause", pause, gcBounds, "the collector stopped the generator for %v", m.GCPause)
}

// judgeScarce judges the resources that ran out on the generator's side.
func (l *Verdict) judgeScarce(r *Result) {
	failed, all := &r.Total.Failed, r.Total.Done+r.Total.Errors()
	for _, c := range []Class{ClassPorts, ClassFiles} {
		if failed[c] > 0 {
			l.judge(c.String(), max(float64(failed[c])/float64(all), scarceBounds.amber), scarceBounds,
				"%d connections could not be made for want of ports or descriptors on this side", failed[c])
		}
	}
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// Causes are the measures that are not green, the worst first.
func (l *Verdict) Causes() []Measure {
	n := slices.IndexFunc(l.Measures, func(m Measure) bool { return m.Level == Green })
	if n < 0 {
		n = len(l.Measures)
	}
	return l.Measures[:n]
}

// String says the verdict and its causes in one line.
func (l *Verdict) String() string {
	s := [...]string{
		Green: "GREEN: the numbers are the service's",
		Amber: "AMBER: the generator may have had a part in the numbers",
		Red:   "RED: generator-bound, rates are lower bounds and times upper ones",
	}[min(l.Level, Red)]
	var why []string
	for _, m := range l.Causes() {
		why = append(why, m.Text)
	}
	if len(why) > 0 {
		s += ": " + strings.Join(why, "; ")
	}
	return s
}
