package slo

import (
	"fmt"
	"math"
	"slices"
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
	"paddock/load/histogram"
)

// State is the outcome of an objective.
type State uint8

// The states, from the best to the worst.
const (
	Met     State = iota
	Missed        // the measure is on the wrong side of the limit
	Unknown       // too little was measured to say, or the bounds do not tell
)

var stateNames = [...]string{"met", "missed", "unknown"}

// String is the state's name in reports.
func (s State) String() string { return stateNames[min(s, Unknown)] }

// StateOf is the state of a name; one that is not known is Unknown.
func StateOf(name string) State {
	if i := slices.Index(stateNames[:], name); i >= 0 {
		return State(i)
	}
	return Unknown
}

// Outcome is an objective with its outcome.
type Outcome struct {
	Objective
	State    State
	Measured string  // "12.3ms", "0.1 %", or why it is unknown
	Value    float64 // measured: NaN = nothing, +Inf = some requests had no answer
	Limit    float64 // in the same unit, see Unit; NaN = a part of a rate that was not meant
}

// String is the outcome in one line.
func (o Outcome) String() string {
	return fmt.Sprintf("%v: %v (%s)", o.Objective, o.State, o.Measured)
}

// Check returns the outcome of each objective in a run.
func Check(list []Objective, r *load.Result) []Outcome {
	var outcomes []Outcome
	for _, o := range list {
		outcomes = append(outcomes, o.check(r))
	}
	return outcomes
}

// CheckBounds judges objectives in a run whose generator was the bottleneck. The numbers of such
// a run are bounds of the service's: times are upper ones, and the rate is a lower one. An
// objective is met or missed where each number within the bound says so, else it is unknown.
// high returns the upper end of the interval that holds a quantile, if the run has one.
func CheckBounds(list []Objective, r *load.Result, high func(of Times, share float64) (time.Duration, bool)) []Outcome {
	outcomes := Check(list, r)
	for i := range outcomes {
		if o := &outcomes[i]; o.State != Unknown {
			o.bound(r, high)
		}
	}
	return outcomes
}

func (o *Outcome) bound(r *load.Result, high func(Times, float64) (time.Duration, bool)) {
	least, most := 0.0, o.Value
	switch {
	case o.Measure == Rate:
		least, most = o.Value, math.Inf(1)
		o.Measured += " at least"
	case o.Measure == Err:
		if least = serviceErrors(r); least < most {
			o.Measured += " at most: some requests failed on this side"
		}
	case o.Times != Response && o.Times != Lag && Target(r) > 0:
		most = math.Inf(1)
		o.Measured += ", under less load than meant"
	default:
		if end, ok := high(o.Times, o.Share); ok && o.Measure == Quantile && float64(end) > most {
			most = float64(end)
			o.Measured += ", " + figure.Time(end)
		}
		if !math.IsInf(most, 1) {
			o.Measured += " at most"
		}
	}
	if o.Op.holds(least, o.Limit) != o.Op.holds(most, o.Limit) {
		o.State = Unknown
	}
}

// serviceErrors is the share of the requests that failed, without those whose failure may be
// the generator's: they found no port or descriptor, or were not sent in time.
func serviceErrors(r *load.Result) float64 {
	failed, all := Failures(r)
	own := r.Unanswered.Unsent
	for _, c := range []load.Class{load.ClassPorts, load.ClassFiles, load.ClassShed, load.ClassDropped} {
		own += r.Total.Failed[c]
	}
	return float64(failed-own) / float64(max(all-own, 1))
}

func (o Objective) check(r *load.Result) Outcome {
	switch o.Measure {
	case Err:
		failed, all := Failures(r)
		if all == 0 {
			return o.unknown(o.Number, "no request was sent")
		}
		share := float64(failed) / float64(all)
		return o.outcome(share, o.Number, figure.Percent(share))
	case Rate:
		limit := o.Number
		if o.OfTarget {
			limit *= Target(r)
		}
		switch {
		case o.OfTarget && Target(r) == 0:
			return o.unknown(math.NaN(), "no rate was meant")
		case r.Elapsed == 0:
			return o.unknown(limit, "no rate was measured")
		}
		return o.outcome(r.PerSecond(), limit, figure.Number(r.PerSecond())+"/s")
	}
	return o.checkTimes(r)
}

func (o Objective) outcome(measured, limit float64, text string) Outcome {
	out := Outcome{o, Missed, text, measured, limit}
	if o.Op.holds(measured, limit) {
		out.State = Met
	}
	return out
}

func (o Objective) unknown(limit float64, why string) Outcome {
	return Outcome{o, Unknown, why, math.NaN(), limit}
}

// checkTimes judges a measure of times. A missing answer counts as longer than all others.
func (o Objective) checkTimes(r *load.Result) Outcome {
	h, missing := o.times(r)
	limit := float64(o.Time)
	if h == nil {
		return o.unknown(limit, "not measured")
	}
	n := h.Count()
	all := n + missing
	switch {
	case all == 0:
		return o.unknown(limit, "nothing was measured")
	case o.Measure == Quantile && !load.Enough(o.Share, all):
		return o.unknown(limit, fmt.Sprintf("it takes %d answers, and there were %d", load.Needed(o.Share), all))
	}
	d, known := o.value(h, n, all)
	if !known {
		text := fmt.Sprintf("%d requests had no answer", missing)
		return o.outcome(math.Inf(1), limit, text)
	}
	return o.outcome(float64(d), limit, figure.Time(d))
}

// value is the measure over n that were measured and others that are longer; false if it
// is one of these.
func (o Objective) value(h *histogram.Histogram, n, all uint64) (time.Duration, bool) {
	switch o.Measure {
	case Min:
		return h.Min(), n > 0
	case Mean:
		return h.Mean(), n == all
	case Max:
		return h.Max(), n == all
	}
	rank := max(uint64(math.Ceil(o.Share*float64(all))), 1)
	if rank > n {
		return 0, false
	}
	return h.Quantile((float64(rank) - 0.5) / float64(n)), true
}

// times are the durations that are meant, and how many of them have not ended. A timeout has the
// time of the timeout.
func (o Objective) times(r *load.Result) (*histogram.Histogram, uint64) {
	t, u := &r.Total, r.Unanswered
	switch o.Times {
	case Service:
		return t.Service, uint64(u.Count + t.Lost)
	case Lag:
		return t.Lag, uint64(u.Unsent)
	case Connect:
		return t.Connect, 0
	case FirstByte:
		if t.FirstByte == nil || t.FirstByte.Count() == 0 && t.Done > 0 {
			return t.FirstByte, 0 // answers without one are of a protocol that has none
		}
		// Answers that ended within had one.
		return t.FirstByte, uint64(u.Count + t.Failed[load.ClassTimeout] + max(t.Lost-t.Failed[load.ClassEarlyEnd], 0))
	}
	return t.Response, uint64(u.Count + u.Unsent + t.Lost + t.Failed[load.ClassShed] + t.Failed[load.ClassDropped])
}

// Failures are the requests of a run that failed, were given up or had no answer, and all
// of them.
func Failures(r *load.Result) (failed, all int64) {
	failed = r.Total.Errors() + r.Unanswered.Count + r.Unanswered.Unsent
	return failed, failed + r.Total.Failed[load.ClassOK]
}

// Target is the rate that was meant, the mean over the measured time; 0 in a closed run.
func Target(r *load.Result) float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return r.Total.Target / r.Elapsed.Seconds()
}
