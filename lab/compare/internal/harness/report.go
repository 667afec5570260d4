package harness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/results"
)

// Result is one run, as --json writes it.
type Result struct {
	results.Head
	Verdicts []Verdict `json:"verdicts,omitempty"`
	Samples  []Sample  `json:"samples,omitempty"`
}

// write writes the result as JSON to a new file.
func (r *Result) write(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(results.Write(f, r), f.Close())
}

// WriteHeader says where and how a run takes place.
func (r *Result) WriteHeader(w io.Writer) error {
	m := r.Machine
	_, err := fmt.Fprintf(w, "%s, %d cores, Linux %s, %s, %s\n%d rounds in turns, windows of %s after %s; median (min..max) over the rounds\n",
		m.CPU, m.Cores, m.Kernel, m.Go, r.Date.Format(time.RFC3339), r.Rounds, r.Duration, r.Warmup)
	return err
}

// WriteTable writes one goal: a line for each contender, then the bars.
func WriteTable(w io.Writer, g *Goal, samples []Sample) error {
	fmt.Fprintf(w, "\n%s: %s\n", g.Name, g.Title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	titles := []string{"  ", shapes[g.Metric].title, "min..max", "ratio", "min..max"}
	if !g.Within {
		titles = append(titles, cpuTitle(g))
	}
	fmt.Fprintln(table, strings.Join(append(titles, g.AlsoTitle), "\t"))
	for _, c := range g.Contenders {
		fmt.Fprintf(table, "  %s\t%s\n", c.Name, row(g, c, samples))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range Judge(g, samples) {
		if _, err := fmt.Fprintf(w, "  %s\n", v); err != nil {
			return err
		}
	}
	return nil
}

// row returns the cells of one contender, or why it has none.
func row(g *Goal, c Contender, samples []Sample) string {
	own := results.NewSpread(values(samples, g.Name, c.Name, g.Metric))
	if why := reason(samples, g.Name, c.Name); why != "" {
		return why
	}
	ratioCell, ratioSpread := "", ""
	if base := g.BaseOf(c); base != "" && base != c.Name {
		if spread, rounds := ratio(samples, g.Name, c.Name, base, g.Metric); len(rounds) > 0 {
			ratioCell = fmt.Sprintf("%.2fx %s", spread.Median, base)
			ratioSpread = fmt.Sprintf("%.2f..%.2f", spread.Least, spread.Most)
		}
	}
	cells := []string{
		shown(own.Median, g.Metric), shown(own.Least, g.Metric) + ".." + shown(own.Most, g.Metric),
		ratioCell, ratioSpread,
	}
	if !g.Within {
		cells = append(cells, cpuCell(g, c, samples))
	}
	cells = append(cells, also(g, c, samples))
	return strings.Join(cells, "\t")
}

// also returns the last cell of a contender.
func also(g *Goal, c Contender, samples []Sample) string {
	if c.Also == nil {
		return ""
	}
	return c.Also(func(m Metric) string {
		all := values(samples, g.Name, c.Name, m)
		if len(all) == 0 {
			return ""
		}
		return shown(results.NewSpread(all).Median, m)
	})
}

func values(samples []Sample, goal, contender string, m Metric) []float64 {
	var all []float64
	for _, value := range figures(samples, goal, contender, m) {
		all = append(all, value)
	}
	return all
}

// reason returns why a contender has no figures; "" if it has some.
func reason(samples []Sample, goal, contender string) string {
	why := "not run"
	for _, s := range samples {
		switch {
		case s.Goal != goal || s.Contender != contender:
		case s.Failed != "":
			return "failed: " + s.Failed
		case s.Unsupported != "":
			why = "cannot: " + s.Unsupported
		default:
			return ""
		}
	}
	return why
}

func cpuTitle(g *Goal) string {
	if g.Fine {
		return "CPU/op client+server, machine"
	}
	return "CPU/op client+server"
}

func cpuCell(g *Goal, c Contender, samples []Sample) string {
	median := func(m Metric) float64 { return results.NewSpread(values(samples, g.Name, c.Name, m)).Median }
	client, server := median(ClientCPU), median(ServerCPU)
	if !g.Fine {
		return fmt.Sprintf("%.2f + %.2f us", client, server)
	}
	return fmt.Sprintf("%s + %s, %s", shown(client, ServerCPU), shown(server, ServerCPU), shown(median(MachineCPU), MachineCPU))
}

// shape says how a metric is shown.
type shape struct {
	title  string // of its column
	figure func(v float64) string
}

var shapes = map[Metric]shape{
	OpsPerSecond:   {"per second", figure.Number},
	BytesPerSecond: {"bytes/s", func(v float64) string { return size(v) + "/s" }},
	P50:            {"p50", micros},
	P90:            {"p90", micros},
	P99:            {"p99", micros},
	P999:           {"p99.9", micros},
	Slowest:        {"max", micros},
	Stall:          {"stall", micros},
	StallP999:      {"stall p99.9", micros},
	Millis:         {"time", func(v float64) string { return micros(v * 1e3) }},
	ServerCPU:      {"server CPU/op", micros},
	MachineCPU:     {"server CPU/op", micros},
	ClientCPU:      {"client CPU/op", micros},
	UserCPU:        {"client user/op", micros},
	NanosPerOp:     {"ns/op", func(v float64) string { return micros(v / 1e3) }},
	Resident:       {"memory", size},
	Growth:         {"memory", size},
	EdgeBytes:      {"bytes/edge", number},
	AllocsPerOp:    {"allocs/op", number},
	RateError:      {"rate error", func(v float64) string { return number(v) + " %" }},
}

// shown writes a value with three digits and its unit's prefix.
func shown(v float64, m Metric) string { return shapes[m].figure(v) }

func number(v float64) string { return fmt.Sprintf("%.3g", v) }

func size(v float64) string { return figure.Bytes(int64(v)) }

// micros writes microseconds, of processor time often less than one.
func micros(v float64) string {
	if v < 1 {
		return number(v*1e3) + "ns"
	}
	return figure.Micros(v)
}

// Rule returns the bar in one line.
func (b Bar) Rule() string {
	sign := ">="
	if b.AtMost {
		sign = "<="
	}
	if b.Base == "" {
		text := fmt.Sprintf("bar: %s %s %g %s", b.Contender, sign, b.Pass, b.Metric)
		if b.Stretch != 0 {
			text += fmt.Sprintf(" (goal %g)", b.Stretch)
		}
		return text
	}
	text := fmt.Sprintf("bar: %s %s %gx %s in %s", b.Contender, sign, b.Pass, b.Base, b.Metric)
	if b.Stretch != 0 {
		text += fmt.Sprintf(" (goal %gx)", b.Stretch)
	}
	return text
}

// String returns the bar and its outcome, in one line.
func (v Verdict) String() string {
	outcome := "MISSED"
	switch {
	case v.Ratio == nil:
		return v.Rule() + ": not measured"
	case v.Reached:
		outcome = "met, with the goal"
	case v.Met:
		outcome = "met"
	}
	if v.Base == "" {
		f := func(x float64) string { return strings.TrimSpace(shown(x, v.Metric)) }
		return fmt.Sprintf("%s: %s, %s (%s..%s)", v.Rule(), outcome, f(v.Ratio.Median), f(v.Ratio.Least), f(v.Ratio.Most))
	}
	return fmt.Sprintf("%s: %s, %.2fx (%.2f..%.2f)", v.Rule(), outcome, v.Ratio.Median, v.Ratio.Least, v.Ratio.Most)
}
