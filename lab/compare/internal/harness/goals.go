package harness

import (
	"fmt"
	"slices"
	"strings"

	"paddock/lab/compare/internal/harness/measure"
)

// Metric is one figure of a sample.
type Metric string

const (
	OpsPerSecond   Metric = "ops_per_s"
	BytesPerSecond Metric = "bytes_per_s"
	P50            Metric = "p50_us"
	P99            Metric = "p99_us"
	P90            Metric = "p90_us"
	P999           Metric = "p999_us"
	ServerCPU      Metric = "server_us_per_op"  // user and system time of the server's process
	MachineCPU     Metric = "machine_us_per_op" // of all processes, the kernel's included
	NanosPerOp     Metric = "ns_per_op"         // of one thread
	AllocsPerOp    Metric = "allocs_per_op"
	Millis         Metric = "ms"
	EdgeBytes      Metric = "bytes_per_edge" // of all memory that the fences take
	Slowest        Metric = "p100_us"
	Stall          Metric = "stall_us"      // the longest time that a reader did not go on
	StallP999      Metric = "stall_p999_us" // which one in a thousand of these times reaches

	// Of the side that makes the load.
	ClientCPU Metric = "client_us_per_op"      // user and system time of its process
	UserCPU   Metric = "client_user_us_per_op" // user time alone
	Resident  Metric = "resident_bytes"        // the most memory that it had
	Growth    Metric = "growth_bytes"          // of its memory, behind the first quarter of the run
	RateError Metric = "rate_error_percent"    // of what was sent against what was meant
)

// Pin binds both processes of a measurement to one processor each, with one P.
// Left to itself, the kernel puts two processes that wake each other on one
// processor in one run and on two in the next, which makes a round trip of 8 us or
// of 80 us of the same code.
type Pin string

const (
	Apart    Pin = "apart"    // on two processors: each message wakes an idle one
	Together Pin = "together" // on the same: what the code itself takes
	Crossed  Pin = "crossed"  // as Apart, with the server on the first
)

// Contender is one peer doing one operation.
type Contender struct {
	Name      string // unique within its goal
	Peer      string
	Operation measure.Operation
	TLS       bool
	Pin       Pin    // where its processes run; "" as the kernel chooses
	Base      string // the contender that it is divided by; "" for the goal's, its own name for none

	// Also returns the last cell of its row, given the medians of its metrics as
	// text; nil leaves it empty.
	Also func(median func(Metric) string) string
}

// Bar is the figure that one contender must reach relative to another, as the median over the
// rounds of the ratio of their figures; or by itself, in the metric's unit.
type Bar struct {
	Contender string  `json:"contender"`
	Base      string  `json:"base"` // "": the figure itself is judged
	Metric    Metric  `json:"metric"`
	Pass      float64 `json:"pass"`
	Stretch   float64 `json:"stretch,omitempty"` // what is hoped for; 0: no more than Pass
	AtMost    bool    `json:"at_most,omitempty"`
}

// AtMost is a bar for the ratio to a base: the figure is pass times that of base, or less.
func AtMost(contender, base string, m Metric, pass, stretch float64) Bar {
	return Bar{Contender: contender, Base: base, Metric: m, Pass: pass, Stretch: stretch, AtMost: true}
}

// AtLeast is a bar for the ratio to a base: the figure is pass times that of base, or more.
func AtLeast(contender, base string, m Metric, pass, stretch float64) Bar {
	return Bar{Contender: contender, Base: base, Metric: m, Pass: pass, Stretch: stretch}
}

// Contenders returns peers that do the same, under their own names.
func Contenders(op measure.Operation, pin Pin, peers ...string) []Contender {
	all := make([]Contender, len(peers))
	for i, peer := range peers {
		all[i] = Contender{Name: peer, Peer: peer, Operation: op, Pin: pin}
	}
	return all
}

// Columns returns a [Contender.Also] that writes the medians of metrics in a format with a %s for
// each of them.
func Columns(format string, metrics ...Metric) func(median func(Metric) string) string {
	return func(median func(Metric) string) string {
		medians := make([]any, len(metrics))
		for i, m := range metrics {
			medians[i] = median(m)
		}
		return fmt.Sprintf(format, medians...)
	}
}

// Show gives the last column a title, and all contenders the same [Columns] in it.
func (g *Goal) Show(title, format string, metrics ...Metric) {
	g.AlsoTitle = title
	for i := range g.Contenders {
		g.Contenders[i].Also = Columns(format, metrics...)
	}
}

// Goal is one comparison: contenders that take turns, and the bars for ours.
type Goal struct {
	Name       string
	Title      string
	Metric     Metric
	Base       string
	Contenders []Contender
	Bars       []Bar
	Longer     int    // how many times the usual duration its windows take; 0 is 1
	Once       bool   // one round is enough: its result does not differ, or takes long
	Fine       bool   // its processor times are of the order of nanoseconds
	Within     bool   // it runs within this process: there are no processor times of two ends
	AlsoTitle  string // heads the column of the results of the contenders' Also
}

// Select returns the goals named in only, and of them the contenders whose peers
// are named in names. Empty lists select everything.
func Select(goals []Goal, only, names []string) ([]Goal, error) {
	var known []string
	var selected []Goal
	for _, g := range goals {
		known = append(known, g.Name)
		if len(only) > 0 && !slices.Contains(only, g.Name) {
			continue
		}
		if len(names) > 0 {
			g.Contenders = slices.DeleteFunc(slices.Clone(g.Contenders), func(c Contender) bool {
				return !slices.Contains(names, c.Peer)
			})
		}
		selected = append(selected, g)
	}
	for _, name := range only {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no goal %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return selected, nil
}

// BaseOf returns the name of the contender that c is divided by; its own if none.
func (g *Goal) BaseOf(c Contender) string {
	if c.Base != "" {
		return c.Base
	}
	return g.Base
}
