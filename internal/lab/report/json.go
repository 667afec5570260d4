package report

import (
	"encoding/json"
	"io"
	"time"

	"paddock/internal/histogram"
	"paddock/internal/lab/figure"
	"paddock/internal/lab/slo"
	"paddock/load"
)

// Summary is a run as a script reads it. Times are in ns. What was not measured is null.
type Summary struct {
	Title   string    `json:"title"`
	Command []string  `json:"command"`
	Load    string    `json:"load"`
	Began   time.Time `json:"began"`

	ElapsedSeconds float64  `json:"elapsed_seconds"`
	Rate           float64  `json:"rate"`   // good answers per second
	Target         *float64 `json:"target"` // per second; null in a closed run
	Sent           int64    `json:"sent"`
	Answered       int64    `json:"answered"`
	Good           int64    `json:"good"`
	Failed         int64    `json:"failed"`
	Unanswered     int64    `json:"unanswered"`
	Unsent         int64    `json:"unsent"`
	BytesIn        int64    `json:"bytes_in"`
	BytesOut       int64    `json:"bytes_out"`

	Errors map[string]int64  `json:"errors"` // by class
	Status map[uint16]int64  `json:"status"`
	Times  map[string]*Times `json:"times"` // response, service, lag, first byte, connect

	Lamp        LampSummary `json:"lamp"`
	Objectives  []Objective `json:"objectives"`
	Interrupted bool        `json:"interrupted"`
}

// Times are the times of one kind, in ns.
type Times struct {
	Count uint64           `json:"count"`
	Min   int64            `json:"min"`
	Mean  int64            `json:"mean"`
	Max   int64            `json:"max"`
	At    map[string]int64 `json:"at"` // by percentile: those that were measured often enough
}

// LampSummary is the lamp's verdict and its causes.
type LampSummary struct {
	Verdict string   `json:"verdict"`
	Causes  []string `json:"causes"`
}

// Objective is what came of one objective.
type Objective struct {
	Objective string `json:"objective"`
	State     string `json:"state"`
	Measured  string `json:"measured"`
}

// WriteJSON writes the run's Summary.
func (r *Run) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r.Summary())
}

// Summary is the run for a script.
func (r *Run) Summary() *Summary {
	t, lamp := &r.Result.Total, r.lamp()
	s := &Summary{
		Title: r.Title, Command: r.Command, Load: r.Load, Began: r.Result.Began.UTC(),
		ElapsedSeconds: r.Result.Elapsed.Seconds(), Rate: r.Result.PerSecond(),
		Sent: t.Sent, Answered: t.Done, Good: t.Failed[load.ClassOK],
		Unanswered: r.Result.Unanswered.Count, Unsent: r.Result.Unanswered.Unsent,
		BytesIn: t.BytesIn, BytesOut: t.BytesOut,
		Errors: map[string]int64{}, Status: t.Status, Times: map[string]*Times{},
		Lamp: LampSummary{Verdict: lamp.Verdict.String(), Causes: []string{}}, Objectives: []Objective{}, Interrupted: r.Result.Stopped,
	}
	s.Failed, _ = slo.Failures(r.Result)
	if r.Plan.Arrivals != nil {
		target := slo.Target(r.Result)
		s.Target = &target
	}
	for class, n := range t.Failed {
		if c := load.Class(class); c != load.ClassOK && n > 0 {
			s.Errors[c.String()] = n
		}
	}
	for _, c := range []column{{"response", t.Response}, {"service", t.Service}, {"lag", t.Lag}, {"first byte", t.FirstByte}, {"connect", t.Connect}} {
		s.Times[c.Name] = times(c.h)
	}
	for _, m := range lamp.Causes() {
		s.Lamp.Causes = append(s.Lamp.Causes, m.Text)
	}
	for _, o := range r.Outcomes {
		s.Objectives = append(s.Objectives, Objective{o.Objective.String(), o.State.String(), o.Measured})
	}
	return s
}

// times are what h has counted; nil if that is nothing.
func times(h *histogram.Histogram) *Times {
	if h == nil || h.Count() == 0 {
		return nil
	}
	t := &Times{Count: h.Count(), Min: int64(h.Min()), Mean: int64(h.Mean()), Max: int64(h.Max()), At: map[string]int64{}}
	for _, q := range quantiles {
		if enough(q, t.Count) {
			t.At[figure.Quantile(q)] = int64(h.Quantile(q))
		}
	}
	return t
}
