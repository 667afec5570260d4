package load

import "paddock/load/histogram"

// Target holds the counts of the requests for one of a plan's targets. Requests that were never
// sent are of none.
type Target struct {
	Name     string
	Done     int64              // answers that were complete
	Errors   int64              // of these, failures; and requests without an answer
	Response *histogram.Compact // as Interval.Response
}

func (t *Target) answered(class Class, ns int64) {
	t.Done++
	if class != ClassOK {
		t.Errors++
	}
	t.Response.Record(ns)
}

// resetTargets begins the counts of the targets.
func (l *loop) resetTargets() {
	l.targets = nil
	for _, name := range l.plan.Targets {
		l.targets = append(l.targets, Target{Name: name, Response: &histogram.Compact{}})
	}
}

// mergeTargets returns the sums of the counts of several threads.
func mergeTargets(sum, more []Target) []Target {
	if sum == nil {
		return more
	}
	for i := range more {
		sum[i].Done += more[i].Done
		sum[i].Errors += more[i].Errors
		sum[i].Response.Add(more[i].Response)
	}
	return sum
}
