package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// WriteText writes the run for a person at a terminal.
func (r *Run) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n\n%s\n\n", figure.Text(r.Title), r.Document.Load, r.Document.Verdict.Text)
	for _, line := range r.facts() {
		fmt.Fprintf(&b, "%-11s%s\n", line.Name, line.Text)
	}
	r.writeTimes(&b)
	r.writeTargets(&b)
	r.writeErrors(&b)
	if len(r.Outcomes) > 0 {
		b.WriteString("\n")
	}
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "%-8s %v: %s\n", o.State, o.Objective, o.Measured)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Fact is one thing to say of a run.
type Fact struct{ Name, Text string }

// facts returns the results of a run, without the times.
func (r *Run) facts() []Fact {
	t := &r.Result.Total
	rate := figure.Number(r.Result.PerSecond()) + "/s good answers"
	if target := slo.Target(r.Result); target > 0 {
		rate += fmt.Sprintf(", %s of the %s/s that --rate asks for", figure.Percent(r.Result.PerSecond()/target), figure.Number(target))
	}
	seconds := max(r.Result.Elapsed.Seconds(), 1e-9)
	failed, _ := slo.Failures(r.Result)
	facts := []Fact{
		{"rate", rate},
		{"requests", fmt.Sprintf("%s sent, %s answered in %s", figure.Count(t.Sent), figure.Count(t.Done), figure.Time(r.Result.Elapsed))},
		{"errors", fmt.Sprintf("%s, %s%s", figure.Count(failed), r.failedShare(), classes(t))},
		{"bytes", fmt.Sprintf("%s in (%s/s), %s out, bodies %s", figure.Bytes(t.BytesIn), figure.Bytes(int64(float64(t.BytesIn)/seconds)), figure.Bytes(t.BytesOut), figure.Bytes(t.BodyIn))},
		{"in flight", figure.Number(t.InFlight) + " mean" + r.most() + r.little()},
		{"conns", fmt.Sprintf("%s made, %s of them again", figure.Count(t.Connects), figure.Count(t.Reconnects)) + resolved(t)},
	}
	if len(t.Status) > 0 {
		facts = append(facts, Fact{"status", statuses(t.Status)})
	}
	if late := lateness(t); late != "" {
		facts = append(facts, Fact{"late", late})
	}
	if u := r.Result.Unanswered; u.Count+u.Unsent > 0 {
		facts = append(facts, Fact{"unanswered", fmt.Sprintf("%s sent and %s never sent, the oldest due %s ago at the end", figure.Count(u.Count), figure.Count(u.Unsent), figure.Time(u.Oldest))})
	}
	for _, f := range r.Document.Facts {
		facts = append(facts, Fact(f))
	}
	return append(append(facts, r.cost()...), r.machine()...)
}

// resolved says how long the name of the service took to resolve.
func resolved(t *load.Interval) string {
	if t.DNS == nil {
		return ""
	}
	return "; the name resolved in " + figure.Time(t.DNS.Max())
}

// most is how many requests were under way at most. Where listeners get the answers, that
// is not counted.
func (r *Run) most() string {
	if r.Result.Total.MaxInFlight == 0 {
		return ""
	}
	return ", " + figure.Count(r.Result.Total.MaxInFlight) + " most"
}

// failedShare is the share of the requests that failed or had no answer.
func (r *Run) failedShare() string {
	failed, all := slo.Failures(r.Result)
	return figure.Percent(float64(failed) / float64(max(all, 1)))
}

// little describes the check of the run's own bookkeeping.
func (r *Run) little() string {
	l := r.Document.Little
	switch {
	case l == nil:
		return ""
	case l.Holds:
		return "; Little's law holds, " + figure.Percent(l.Delta) + " off"
	}
	return "; LITTLE'S LAW DOES NOT HOLD, " + figure.Percent(l.Delta) + " off: some times or counts are wrong"
}

// classes says how the requests that failed did.
func classes(t *load.Interval) string {
	var parts []string
	for class, n := range t.Failed {
		if c := load.Class(class); c != load.ClassOK && n > 0 {
			parts = append(parts, fmt.Sprintf("%v %s", c, figure.Count(n)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

func statuses(s map[uint16]int64) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%d: %s", code, figure.Count(s[code])))
	}
	return strings.Join(parts, ", ")
}

// lateness says how many sends were late, and why.
func lateness(t *load.Interval) string {
	var parts []string
	for cause, n := range t.Late {
		if load.Cause(cause) != load.OnTime && n > 0 {
			parts = append(parts, fmt.Sprintf("%s %v (%s in all)", figure.Count(n), load.Cause(cause), figure.Time(t.LateTime[cause])))
		}
	}
	return strings.Join(parts, ", ")
}

// cost returns the resources that the generator itself used.
func (r *Run) cost() []Fact {
	m, done := r.Result.Machine, r.Result.Total.Done
	if m.User+m.System == 0 || done == 0 {
		return nil
	}
	text := fmt.Sprintf("%s of processor time per answer (user %s, system %s)",
		figure.Time((m.User+m.System)/time.Duration(done)), figure.Time(m.User/time.Duration(done)), figure.Time(m.System/time.Duration(done)))
	if m.MaxResident > 0 {
		text += ", " + figure.Bytes(m.MaxResident) + " of memory"
	}
	return []Fact{{"generator", text}}
}

// machine returns what the machine of the service did, and the service itself.
func (r *Run) machine() []Fact {
	u := r.Document.Machine
	if u == nil || u.Length <= 0 {
		return nil
	}
	share := func(d time.Duration) string { return figure.Number(d.Seconds() / u.Length.Seconds()) }
	text := fmt.Sprintf("%s processors at work (user %s, system %s)", share(u.User+u.System), share(u.User), share(u.System))
	if u.Steal > 0 {
		text += ", " + share(u.Steal) + " taken by other virtual machines"
	}
	if s := u.Service; s != nil {
		text += fmt.Sprintf("; the service %s, %s of memory", share(s.CPU), figure.Bytes(s.Resident))
	}
	if u.Dropped > 0 {
		text += "; listeners had no room for " + figure.Count(u.Dropped) + " connections"
	}
	return []Fact{{"machine", text}}
}

func (r *Run) writeTimes(b *bytes.Buffer) {
	columns := r.columns()
	if len(columns) == 0 {
		return
	}
	table, marked := rows(columns)
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 3, ' ', tabwriter.AlignRight)
	for _, c := range columns {
		fmt.Fprint(w, "\t", c.Name)
	}
	fmt.Fprintln(w, "\t")
	for _, row := range table {
		fmt.Fprint(w, row.Name, "\t", strings.Join(row.Cells, "\t"), "\t\n")
	}
	_ = w.Flush() // to memory
	if marked {
		b.WriteString("~ too few to tell this percentile\n")
	}
}

// shownErrors bounds how many different errors are listed.
const shownErrors = 10

func (r *Run) writeErrors(b *bytes.Buffer) {
	for i, s := range r.samples() {
		if i == 0 {
			b.WriteString("\nthe first errors of each kind\n")
		}
		if i == shownErrors {
			fmt.Fprintf(b, "  and %d other kinds\n", len(r.Result.Samples)-i)
			return
		}
		fmt.Fprintf(b, "  %s %v: %s (first at %s, last at %s)\n", figure.Count(s.Count), s.Class, figure.Text(s.Text), figure.Time(s.First), figure.Time(s.Last))
		if len(s.Bytes) > 0 {
			fmt.Fprintf(b, "    received: %s\n", figure.Text(string(s.Bytes[:min(len(s.Bytes), shownBytes)])))
		}
	}
}

// shownBytes bounds the bytes of a stream that are shown.
const shownBytes = 60

// samples are the errors as they were seen, the most frequent first.
func (r *Run) samples() []load.Sample {
	list := slices.Clone(r.Result.Samples)
	slices.SortFunc(list, func(a, b load.Sample) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Text, b.Text))
	})
	return list
}
