package conformance

import (
	"errors"
	"fmt"
)

// Result is how a test came out.
type Result string

// The results. The zero value is a test that was to be run and was not.
const (
	Missing Result = ""
	Passed  Result = "passed"
	Failed  Result = "failed"
	Skipped Result = "skipped itself"
)

func (r Result) String() string {
	if r == Missing {
		return "not run"
	}
	return string(r)
}

// Outcome is the result of a suite against one server.
type Outcome struct {
	Suite, Server string
	Selection     *Selection
	Results       map[string]Result
	// Again are the tests that failed, and passed when they were run alone.
	Again []string
	// Logs hold the output of failed tests.
	Logs map[string]string
}

// Count returns how many tests had the result.
func (o *Outcome) Count(r Result) int {
	n := 0
	for _, test := range o.Selection.Run {
		if o.Results[test] == r {
			n++
		}
	}
	return n
}

// Applicable returns how many tests were to be run.
func (o *Outcome) Applicable() int { return len(o.Selection.Run) }

// Left returns how many tests were left out.
func (o *Outcome) Left() int {
	n := 0
	for _, tests := range o.Selection.Skipped {
		n += len(tests)
	}
	return n
}

// Judge returns every result that is not the expected one: that every test
// passes but for those in fails.
func (o *Outcome) Judge(fails map[string]string) error {
	var errs []error
	for _, test := range o.Selection.Run {
		r := o.Results[test]
		_, expected := fails[test]
		switch {
		case r != Passed && !expected:
			errs = append(errs, fmt.Errorf("%s against %s: %s: %v", o.Suite, o.Server, test, r))
		case r == Passed && expected:
			errs = append(errs, fmt.Errorf("%s against %s: %s passes and is listed as one that fails", o.Suite, o.Server, test))
		}
	}
	return errors.Join(errs...)
}
