package distributed

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/load"
)

// A part of an interval is given up when a worker is so many intervals ahead of it, or so many
// ticks after the end of its own worker.
const (
	maxAhead = 16
	maxLate  = 3
)

// reading is one reading of a worker's clock, in ns: how much it is ahead of the controller's, and
// how long the question and the answer took.
type reading struct{ offset, trip int64 }

// member is a worker of a run, as its controller knows it.
type member struct {
	reply
	first, threads int
	clock, last    reading // before the run, and by the last beat
	missed         int     // beats since then

	pending    map[int]*frame // intervals that are not merged yet, by number
	sent, done int64          // in the merged ones
	check      uint64         // likewise
	measured   time.Duration  // likewise
	end        *final         // nil = it has not ended
	late       int            // ticks since then
	lost       string         // why nothing more is counted of it; "" = it is not lost
}

// over reports whether an interval that is not there will not come.
func (m *member) over(seq int) bool {
	return m.lost != "" || m.end != nil && (seq >= m.end.Frames || m.late >= maxLate)
}

// merger adds up what the members of a run count: interval by interval in order, each of them once,
// whenever it comes. It does no I/O, and belongs to one goroutine but for progress.
type merger struct {
	plan     *load.Plan // of all members
	members  []*member
	merge    *load.Merge
	result   load.Result
	next     int // the interval to merge
	progress atomic.Pointer[load.Progress]
}

func newMerger(plan *load.Plan, members []*member, observer load.Observer) *merger {
	m := &merger{plan: plan, members: members}
	m.progress.Store(&load.Progress{})
	observers := load.Observers{m}
	if observer != nil {
		observers = append(observers, observer)
	}
	m.merge = load.NewMerge(plan, observers, &m.result)
	for _, w := range members {
		w.pending = map[int]*frame{}
	}
	return m
}

// Interval notes how far the run is.
func (m *merger) Interval(v *load.Interval) {
	p := *m.progress.Load()
	p.Sent, p.OK, p.Failed, p.InFlight = p.Sent+v.Sent, p.OK+v.Failed[load.ClassOK], p.Failed+v.Errors(), int64(v.InFlight+0.5)
	m.progress.Store(&p)
}

// member returns the one with an id; nil = there is none.
func (m *merger) member(id string) *member {
	i := slices.IndexFunc(m.members, func(w *member) bool { return w.ID == id })
	if i < 0 {
		return nil
	}
	return m.members[i]
}

// frame takes an interval of a member. One that was merged before is not counted again, and of one
// that was given up the sums of its worker tell.
func (m *merger) frame(f *frame) {
	w := m.member(f.ID)
	if w == nil || w.lost != "" || f.Seq < m.next || f.Seq > m.next+maxAhead {
		return
	}
	w.pending[f.Seq] = f
	m.advance()
}

// final takes the end of a member, which may come again. stopped says that the run was to end.
func (m *merger) final(end *final, stopped bool) {
	w := m.member(end.ID)
	switch {
	case w == nil || w.end != nil || w.lost != "":
	case end.Error != "":
		m.lose(w, end.Error)
	case end.Result.Stopped && !stopped:
		m.lose(w, "it was stopped on its machine")
	default:
		w.end = end
		m.advance()
	}
}

// lose gives up a member: what it sends from now on is not counted.
func (m *merger) lose(w *member, why string) {
	if w.lost == "" && w.end == nil {
		w.lost = why
		m.advance()
	}
}

// tick is called each second.
func (m *merger) tick() {
	for _, w := range m.members {
		if w.end != nil {
			w.late++
		}
	}
	m.advance()
}

// finished reports whether nothing more will come of any member.
func (m *merger) finished() bool {
	return !slices.ContainsFunc(m.members, func(w *member) bool { return len(w.pending) > 0 || !w.over(m.next) })
}

// advance merges the intervals that are complete: each member's part is there, or will not come.
func (m *merger) advance() {
	for {
		var there []*member
		most, awaited := 0, false
		for _, w := range m.members {
			most = max(most, len(w.pending))
			if w.pending[m.next] != nil {
				there = append(there, w)
			} else if !w.over(m.next) {
				awaited = true
			}
		}
		if most == 0 || awaited && most < maxAhead {
			return
		}
		m.add(there)
		m.next++
	}
}

// add merges the parts of the next interval. Where a member is missing, its requests are meant all
// the same.
func (m *merger) add(there []*member) {
	parts := make(map[*member]*load.Interval, len(there))
	var known *load.Interval
	perThread := 0.0 // requests meant
	for _, w := range there {
		v, err := w.pending[m.next].interval()
		delete(w.pending, m.next)
		if err != nil {
			w.lost = err.Error()
			continue
		}
		parts[w], known, perThread = v, v, v.Target/float64(w.threads)
		w.sent, w.done, w.check = w.sent+v.Sent, w.done+v.Done, w.check+checksum(v)
		if v.Start >= m.plan.Warmup && (m.plan.Duration == 0 || v.Start < m.plan.Warmup+m.plan.Duration) {
			w.measured += v.Length
		}
	}
	if known == nil {
		return
	}
	for _, w := range m.members {
		v := parts[w]
		if v == nil {
			v = load.NewInterval()
			v.Start, v.Length, v.Threads = known.Start, known.Length, make([]load.ThreadUse, w.threads)
			if w.end == nil || m.next < w.end.Frames {
				v.Target = perThread * float64(w.threads)
			}
		}
		m.merge.Part(v)
	}
	m.merge.Next()
}

const (
	stateWhole = "whole" // of a worker all of whose counts are merged
	leastGap   = 1e-6    // stands for counts that are missing in whole intervals
)

// finish completes the result, and says what became of each member. missing says which part of the
// run is not in the result, and why; "" = all is.
func (m *merger) finish() (all []runfile.Worker, missing string) {
	m.merge.End()
	coverage := 0.0
	for _, w := range m.members {
		var o load.Result
		var v load.Verdict
		if w.end != nil {
			o, v = w.end.Result, w.end.Verdict
			if dns, err := w.end.DNS.histogram(); err == nil { // it errs where no name was resolved
				m.result.Total.Add(&load.Interval{DNS: dns})
			}
		}
		for i := range v.Measures {
			v.Measures[i].Text = w.Name + ": " + v.Measures[i].Text
		}
		d := m.describe(w)
		if d.State != stateWhole {
			text := fmt.Sprintf("worker %s was %s, and %s of its part of the run is counted: %s", w.Name, d.State, figure.Percent(d.Coverage), d.Reason)
			v.Measures = append(v.Measures, load.Measure{
				Name: "coverage", Value: max(1-d.Coverage, leastGap), Amber: leastGap, Red: leastGap, Level: load.Red, Text: text,
			})
			missing += "; " + text
		}
		m.result.Join(&o, v)
		all = append(all, d)
		coverage += d.Coverage / float64(len(m.members))
	}
	if missing != "" {
		missing = "coverage=" + figure.Percent(coverage) + missing
	}
	return all, missing
}

// describe says what became of a member.
func (m *merger) describe(w *member) runfile.Worker {
	d := runfile.Worker{
		Name: w.Name, Cores: w.Cores, Threads: w.threads, Offset: w.clock.offset, OffsetError: w.clock.trip / 2,
		Sent: w.sent, Done: w.done, State: stateWhole, Coverage: 1,
	}
	if drift := w.last.offset - w.clock.offset; max(drift, -drift) > (w.last.trip+w.clock.trip)/2 {
		d.Drift = drift
	}
	if w.end != nil {
		d.Skew, d.Verdict = int64(w.end.Skew), w.end.Verdict.Level.String()
	}
	switch {
	case w.lost != "":
		d.State, d.Reason = "lost", w.lost
	case w.sent != w.end.Sent || w.done != w.end.Done || w.check != w.end.Check:
		d.State = "incomplete"
		d.Reason = fmt.Sprintf("the counts that came have %d of %d requests and %d of %d answers", w.sent, w.end.Sent, w.done, w.end.Done)
	}
	if d.State != stateWhole {
		d.Coverage = min(float64(w.measured)/float64(max(m.result.Elapsed, 1)), 1)
	}
	return d
}
