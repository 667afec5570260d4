// Package report says what came of a run: in text, as an object, and as one HTML file with
// the plots, which asks nothing of any network.
package report

import (
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// Run is a run that is over, and everything that is said of it.
type Run struct {
	Title    string   // what was measured
	Command  []string // the command line, without what is secret
	Load     string   // what load was made, in a few words
	Plan     *load.Plan
	Result   *load.Result
	Outcomes []slo.Outcome
	More     []Fact // what else there is to say, of the protocol

	Series    *Series            // nil = not recorded
	Document  *runfile.Document  // what is written for programs
	Directory *runfile.Directory // where its files are; nil = nowhere
}

// quantiles are those that reports show, between the least and the longest.
var quantiles = runfile.Quantiles[1 : len(runfile.Quantiles)-1]

// lamp judges the run.
func (r *Run) lamp() load.Lamp { return load.Judge(r.Plan, r.Result) }

// Missed are the objectives that were not met, and unknown those of which too little was
// measured.
func (r *Run) Missed() (missed, unknown []slo.Outcome) {
	for _, o := range r.Outcomes {
		switch o.State {
		case slo.Missed:
			missed = append(missed, o)
		case slo.Unknown:
			unknown = append(unknown, o)
		}
	}
	return missed, unknown
}
