package runfile

import (
	"slices"
	"strconv"
	"time"

	"paddock/lab/internal/slo"
	"paddock/lab/process"
	"paddock/load"
)

// maxSeconds bounds the series of a run: beyond, two neighbours become one.
const maxSeconds = 2048

// Recorder collects the data of a document from the seconds of a run. Each run has its own. It
// belongs to the goroutine of the run until the run is over.
type Recorder struct {
	plan         load.Plan
	response     load.Confidence
	service      *load.Confidence // nil = so far each second's times were the response times
	rate, median series
	directory    *Directory // nil = nothing is written as the run goes

	target    *process.Target    // nil = its machine is not watched
	now, used *process.TargetUse // in the last part of the run, and in its measured time
}

// NewRecorder makes the recorder of a run that is to be made with plan. It also writes the
// files of d, if that is not nil.
func NewRecorder(plan load.Plan, d *Directory) *Recorder {
	_ = plan.Check() // sets the defaults; the run reports an error
	return &Recorder{plan: plan, directory: d}
}

// WatchTarget watches the machine of the service from now on, if that is this one.
func (r *Recorder) WatchTarget() { r.target = process.WatchTarget(r.plan.Network, r.plan.Address) }

// TargetUse is what the machine of the service did in the part of the run that is over; nil = it is
// not known.
func (r *Recorder) TargetUse() *process.TargetUse { return r.now }

// Interval takes a part of the run that is over.
func (r *Recorder) Interval(v *load.Interval) {
	phase := phaseOf(&r.plan, v)
	if r.now = r.target.Since(); r.now != nil && phase == Measured {
		if r.used == nil {
			r.used = &process.TargetUse{}
		}
		r.used.Add(r.now)
	}
	if r.directory != nil {
		r.directory.second(phase, v, r.now)
	}
	if phase != Measured || v.Length < time.Second*9/10 {
		return // a part that is cut short is no second
	}
	if r.service == nil && !v.Service.Equal(v.Response) { // in a closed run they are mostly
		r.service = r.response.Clone()
	}
	if r.service != nil {
		r.service.Add(v.Service)
	}
	r.response.Add(v.Response)
	r.rate.add(v.PerSecond())
	r.median.add(v.Response.Quantile(0.5).Seconds())
}

// High returns the upper end of the interval that holds the quantile of a share of the response
// or service times with 95 % confidence; ok is false if it is not known.
func (r *Recorder) High(of slo.Times, share float64) (high time.Duration, ok bool) {
	switch {
	case of == slo.Response || of == slo.Service && r.service == nil:
		_, high, ok = r.response.Quantile(share)
	case of == slo.Service:
		_, high, ok = r.service.Quantile(share)
	}
	return high, ok
}

// Phase is a part of a run.
type Phase string

// The phases.
const (
	Warmup   Phase = "warmup"
	Measured Phase = "measured"
	Grace    Phase = "grace"
)

func phaseOf(p *load.Plan, v *load.Interval) Phase {
	switch {
	case v.Start < p.Warmup:
		return Warmup
	case p.Duration > 0 && v.Start >= p.Warmup+p.Duration:
		return Grace
	}
	return Measured
}

// Document returns the result of the run. It lists missing files, if there is a directory.
func (r *Recorder) Document(m *Manifest, result *load.Result) *Document {
	v, service := &result.Total, r.service
	if service == nil {
		service = &r.response
	}
	d := &Document{
		Schema: SchemaName, Manifest: m, Plan: planOf(&r.plan, result.Engine), Totals: totals(result),
		Response: TimesOf(v.Response, &r.response), Service: TimesOf(v.Service, service), Lag: TimesOf(v.Lag, nil),
		Connect: TimesOf(v.Connect, nil), FirstByte: TimesOf(v.FirstByte, nil),
		DNS: TimesOf(v.DNS, nil), TCP: TimesOf(v.TCP, nil), TLS: TimesOf(v.TLS, nil),
		Targets: targetsOf(result), Errors: errorsOf(result), Fairness: shares(result.PerConn), Verdict: verdictOf(load.Judge(&r.plan, result)),
		Little: little(v), Steady: r.steady(), Host: host(result), Machine: r.used, Objectives: []Objective{}, Missing: []string{},
	}
	if r.directory != nil {
		d.Missing = r.directory.Missing()
	}
	return d
}

func totals(r *load.Result) Totals {
	v := &r.Total
	t := Totals{
		Elapsed: int64(r.Elapsed), Warmup: int64(r.Warmup), Interrupted: r.Stopped,
		Sent: v.Sent, Done: v.Done, Good: v.Failed[load.ClassOK], InTime: r.InTime,
		Unanswered: r.Unanswered.Count, Unsent: r.Unanswered.Unsent, Oldest: int64(r.Unanswered.Oldest),
		BytesOut: v.BytesOut, BytesIn: v.BytesIn, BodyIn: v.BodyIn, Connects: v.Connects, Reconnects: v.Reconnects,
		InFlight: v.InFlight, MaxInFlight: v.MaxInFlight, Status: statuses(v), Late: map[string]Late{},
	}
	if r.Elapsed > 0 {
		rate := r.PerSecond()
		t.PerSecond = &rate
	}
	for c := range load.Causes {
		t.Late[c.String()] = Late{v.Late[c], int64(v.LateTime[c])}
	}
	return t
}

func statuses(v *load.Interval) map[string]int64 {
	all := map[string]int64{}
	for code, n := range v.Status {
		all[strconv.Itoa(int(code))] = n
	}
	return all
}

// targetsOf are the targets of a run, without secrets in their names.
func targetsOf(r *load.Result) []Target {
	all := []Target{}
	for _, t := range r.Targets {
		all = append(all, Target{redactText(t.Name), t.Done, t.Errors, brief(t.Response)})
	}
	return all
}

func errorsOf(r *load.Result) []Error {
	all := []Error{}
	for c := range load.Classes {
		if c == load.ClassOK || r.Total.Failed[c] == 0 && !slices.ContainsFunc(r.Samples, func(s load.Sample) bool { return s.Class == c }) {
			continue
		}
		e := Error{Class: c.String(), Count: r.Total.Failed[c], Samples: []Sample{}}
		for _, s := range r.Samples {
			if s.Class == c {
				e.Samples = append(e.Samples, Sample{redactText(s.Text), redactBytes(s.Bytes), s.Count, int64(s.First), int64(s.Last)})
			}
		}
		all = append(all, e)
	}
	return all
}

func shares(perConn []int64) *Shares {
	if len(perConn) == 0 {
		return nil
	}
	var sum, squares float64
	for _, n := range perConn {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	if sum == 0 {
		return nil
	}
	return &Shares{len(perConn), slices.Min(perConn), slices.Max(perConn), sum * sum / squares / float64(len(perConn))}
}

func verdictOf(l load.Verdict) Verdict {
	d := Verdict{Level: l.Level.String(), Text: l.String(), Measures: []Measure{}}
	for _, m := range l.Measures {
		d.Measures = append(d.Measures, Measure{m.Name, m.Level.String(), m.Value, m.Amber, m.Red, m.Text})
	}
	return d
}

func little(v *load.Interval) *Little {
	l, ok := load.CheckLittle(v)
	if !ok {
		return nil
	}
	return &Little{l.InFlight, l.Rate, int64(l.Service), l.Delta, l.Bound, l.Holds}
}

func (r *Recorder) steady() *Steady {
	rate, ok1 := load.Steady(r.rate.points)
	median, ok2 := load.Steady(r.median.points)
	if !ok1 || !ok2 {
		return nil
	}
	cut := time.Duration(max(rate.Cut, median.Cut)*r.rate.span) * time.Second
	return &Steady{
		Stationary: rate.Stationary && median.Stationary, Cut: int64(cut),
		Rate: seriesOf(rate), Median: seriesOf(median),
	}
}

func seriesOf(s load.Steadiness) Series { return Series{s.Stationary, s.Trend, s.Change, s.Lag1} }

func host(r *load.Result) Host {
	m := &r.Machine
	h := Host{
		User: int64(m.User), System: int64(m.System), MaxResident: m.MaxResident, Processors: m.Processors,
		Busy: ns(m.Busy, m.Busy > 0), Idle: ns(m.Idle, m.Busy > 0), Steal: ns(m.Steal, m.Busy > 0), Throttled: int64(m.Throttled), GCPause: int64(m.GCPause),
		Threads: threads(r.Total.Threads),
	}
	return h
}

func threads(use []load.ThreadUse) []Thread {
	all := []Thread{}
	for _, u := range use {
		known := u.CPU > 0
		all = append(all, Thread{
			CPU: ns(u.CPU, known), Wall: int64(u.Wall), Busy: int64(u.Busy()), Waited: int64(u.Waited),
			Ready: ns(u.Ready, known), Held: ns(u.Held(), known), Involuntary: u.Involuntary, Wakes: u.Wakes, Events: u.Events,
		})
	}
	return all
}

// series is a number by the second, in bounded room.
type series struct {
	points []float64
	span   int     // seconds in each point
	sum    float64 // of the seconds of the next point
	have   int
}

func (s *series) add(v float64) {
	s.span = max(s.span, 1)
	s.sum += v
	if s.have++; s.have < s.span {
		return
	}
	s.points = append(s.points, s.sum/float64(s.have))
	s.sum, s.have = 0, 0
	if len(s.points) == maxSeconds {
		for i := range maxSeconds / 2 {
			s.points[i] = (s.points[2*i] + s.points[2*i+1]) / 2
		}
		s.points, s.span = s.points[:maxSeconds/2], 2*s.span
	}
}
