package load

import "paddock/load/histogram"

// Target holds the counts of the requests for one of a plan's targets. Requests that were never
// sent are of none.
type Target struct {
	Name     string
	Done     int64                // answers that were complete
	Errors   int64                // of these, failures; and requests without an answer
	Response *histogram.Histogram // as Interval.Response
}

// tally is the part of one thread in a Target.
type tally struct {
	done, errors int64
	response     histogram.Compact
}

func (t *tally) answered(class Class, ns int64) {
	t.done++
	if class != ClassOK {
		t.errors++
	}
	t.response.Record(ns)
}

// target returns target i, which comes in their order.
func (r *Result) target(i int, name string) *Target {
	if i == len(r.Targets) {
		r.Targets = append(r.Targets, Target{Name: name, Response: histogram.New()})
	}
	return &r.Targets[i]
}

// addTargets adds the counts of one thread.
func (r *Result) addTargets(names []string, list []tally) {
	for i := range list {
		t := r.target(i, names[i])
		t.Done += list[i].done
		t.Errors += list[i].errors
		list[i].response.AddTo(t.Response)
	}
}

// joinTargets adds the counts of one more process of the run.
func (r *Result) joinTargets(list []Target) {
	for i, o := range list {
		t := r.target(i, o.Name)
		t.Done += o.Done
		t.Errors += o.Errors
		t.Response.Add(o.Response)
	}
}
