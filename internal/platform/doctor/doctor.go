// Package doctor judges a running platform by named checks. Each check looks at one thing, within a
// time limit, and ends with a status, a sentence about what it found, and a way out. The checks of
// a platform are those of [Facts]; the command line adds further ones that only a client can make.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Status is the outcome of a check.
type Status string

// The statuses, from the best to the worst. Skipped is no judgement: its text is the reason.
const (
	OK      Status = "ok"
	Skipped Status = "skipped"
	Warning Status = "warning"
	Problem Status = "problem"
)

// MaxItems bounds the items of a result. Further ones are counted.
const MaxItems = 10

// Limit is the time that a check may take.
const Limit = 5 * time.Second

// Result is what a check found.
type Result struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Text    string `json:"text"`             // one sentence
	Advice  string `json:"advice,omitempty"` // the way out; "" if nothing is wrong
	Items   []Item `json:"items,omitempty"`  // the worst first, at most MaxItems
	Omitted int    `json:"omitted,omitempty"`
	Millis  int64  `json:"took_ms"`
}

// Item is one example of what a result is about. Names that do not apply are "".
type Item struct {
	Text   string `json:"text"`
	Door   string `json:"door,omitempty"`
	Fleet  string `json:"fleet,omitempty"`
	Object string `json:"object,omitempty"`
	Set    string `json:"set,omitempty"`
	Fence  string `json:"fence,omitempty"`
	ID     string `json:"id,omitempty"`     // of a webhook, a sink, a source, a subscriber or a file
	Advice string `json:"advice,omitempty"` // for this one
}

// Check is one check.
type Check struct {
	Name string
	// Run looks, and returns a result whose Name and Millis are set for it. It need not obey the
	// context: a check that does not end in time has a result all the same.
	Run func(ctx context.Context) Result
}

// Names returns the names of checks, in their order.
func Names(checks []Check) (names []string) {
	for _, c := range checks {
		names = append(names, c.Name)
	}
	return names
}

// Unknown returns an error about the first name that no check has, or nil.
func Unknown(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no check is called %.64q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Run runs the checks with these names, or all of them without names, at the same time. The results
// have the order of the checks.
func Run(ctx context.Context, checks []Check, only []string) []Result {
	results := make([]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		if len(only) > 0 && !slices.Contains(only, c.Name) {
			continue
		}
		all.Go(func() { results[i] = c.run(ctx, Limit) })
	}
	all.Wait()
	return slices.DeleteFunc(results, func(r Result) bool { return r.Name == "" })
}

// run runs a check for a limited time.
func (c *Check) run(ctx context.Context, limit time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	begun := time.Now()
	done := make(chan Result, 1) // a check that is late finds room, and its goroutine ends
	go func() { done <- c.Run(ctx) }()
	var r Result
	select {
	case r = <-done:
	case <-ctx.Done():
		select {
		case r = <-done: // both at once
		default:
			r = warning("it did not end within "+limit.String(), "ask again; if it stays so, the machine or its disk is overloaded: look at its load with top and iostat")
		}
	}
	r.Name, r.Millis = c.Name, time.Since(begun).Milliseconds()
	if len(r.Items) > MaxItems {
		r.Omitted += len(r.Items) - MaxItems
		r.Items = r.Items[:MaxItems]
	}
	return r
}

// Worst returns the worst status of results; OK without results.
func Worst(results []Result) Status {
	worst := OK
	for i := range results {
		worst = worse(worst, results[i].Status)
	}
	return worst
}

// worse returns the worse of two statuses. A skipped check is no worse than a good one.
func worse(a, b Status) Status {
	order := []Status{Skipped, OK, Warning, Problem}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

func ok(format string, args ...any) Result {
	return Result{Status: OK, Text: fmt.Sprintf(format, args...)}
}

// Skip returns the result of a check that cannot be made, with the reason.
func Skip(format string, args ...any) Result {
	return Result{Status: Skipped, Text: fmt.Sprintf(format, args...)}
}

// Judge returns a result with an advice.
func Judge(s Status, text, advice string, items ...Item) Result {
	return Result{Status: s, Text: text, Advice: advice, Items: items}
}

func warning(text, advice string, items ...Item) Result {
	return Judge(Warning, text, advice, items...)
}

func problem(text, advice string, items ...Item) Result {
	return Judge(Problem, text, advice, items...)
}
