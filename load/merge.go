package load

// Merge makes a Result of the intervals of a run's threads, in this process or in several. The
// intervals of a run begin at the same times in all of its threads. A Merge belongs to one
// goroutine.
type Merge struct {
	plan     *Plan
	observer Observer
	result   *Result
	now      *Interval // the parts so far; its InFlight is a sum over time
	parts    int
}

// NewMerge returns a Merge that counts in result, for a run of plan. It calls observer with each
// merged interval; observer may be nil.
func NewMerge(plan *Plan, observer Observer, result *Result) *Merge {
	result.Total = *NewInterval()
	return &Merge{plan: plan, observer: observer, result: result, now: NewInterval()}
}

// Part counts a part of the current interval: that of some of the threads.
func (m *Merge) Part(v *Interval) {
	now := m.now
	if m.parts++; m.parts == 1 {
		now.Start, now.Length = v.Start, v.Length
	}
	now.Length = max(now.Length, v.Start+v.Length-now.Start)
	now.Add(v)
	now.InFlight += v.InFlight * float64(v.Length)
	now.MaxInFlight += v.MaxInFlight
	now.Threads = append(now.Threads, v.Threads...)
	now.Windows = append(now.Windows, v.Windows...)
}

// ended keeps the place of a thread that had ended before the current interval.
func (m *Merge) ended() { m.now.Threads = append(m.now.Threads, ThreadUse{}) }

// Next ends the current interval, if it has parts.
func (m *Merge) Next() {
	if m.parts == 0 {
		return
	}
	m.count(m.now)
	if m.observer != nil {
		m.now.InFlight /= float64(max(m.now.Length, 1))
		m.observer.Interval(m.now)
	}
	m.now.reset()
	m.parts = 0
}

// count adds an interval to the result.
func (m *Merge) count(v *Interval) {
	r, total := m.result, &m.result.Total
	if v.Start < m.plan.Warmup {
		r.Warmup += v.Length
		return
	}
	if total.Length == 0 {
		total.Start = v.Start
	}
	total.Add(v)
	total.InFlight += v.InFlight
	total.MaxInFlight = max(total.MaxInFlight, v.MaxInFlight)
	total.Length += v.Length
	if int64(v.Start) >= m.plan.end() {
		return
	}
	r.Elapsed += v.Length
	r.InTime += v.Failed[ClassOK]
	for i, u := range v.Threads {
		if i == len(total.Threads) {
			total.Threads = append(total.Threads, ThreadUse{})
		}
		total.Threads[i].add(u, 1)
	}
}

// End completes the result's Total.
func (m *Merge) End() {
	total := &m.result.Total
	if total.Length > 0 {
		total.InFlight /= float64(total.Length)
	}
	if m.plan.TLS == nil && m.plan.Network == "tcp" {
		total.TCP = total.Connect
	}
}

// Join adds the result of one more process of the run, without its Total. The processor times of
// several machines add up. Of what held a process up, such as the collector, the longest counts.
func (r *Result) Join(o *Result, verdict Verdict) {
	r.Engine = max(r.Engine, o.Engine)
	r.Unanswered.Count += o.Unanswered.Count
	r.Unanswered.Unsent += o.Unanswered.Unsent
	r.Unanswered.Oldest = max(r.Unanswered.Oldest, o.Unanswered.Oldest)
	all := samples{r.Samples}
	all.merge(&samples{o.Samples})
	r.Samples = all.list
	r.PerConn = append(r.PerConn, o.PerConn...)
	r.joinTargets(o.Targets)
	m, n := &r.Machine, &o.Machine
	m.User += n.User
	m.System += n.System
	m.MaxResident += n.MaxResident
	m.Busy += n.Busy
	m.Idle += n.Idle
	m.Steal += n.Steal
	m.Processors += n.Processors
	m.GCPause = max(m.GCPause, n.GCPause)
	m.Throttled = max(m.Throttled, n.Throttled)
	r.Verdicts = append(r.Verdicts, verdict)
}
