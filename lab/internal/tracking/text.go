package tracking

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
)

// WriteText writes the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintln(w, r.Subject)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.writeFlapping(table)
	r.writeDelays(table)
	r.writeThroughput(table)
	r.writeDoors(table)
	r.writeRules(table)
	r.writeRecorded(table)
	if err := table.Flush(); err != nil {
		return err
	}
	for _, x := range r.Ratios {
		fmt.Fprintf(w, "ratio: positions a second, %s to %s: %.2f (%.2f to %.2f)\n", x.Policy, x.Base, x.Ratio.Median, x.Ratio.Least, x.Ratio.Most)
	}
	for _, x := range r.doorRatios() {
		fmt.Fprintf(w, "ratio: positions a second, %s to %s: %.2f (%.2f to %.2f)\n", x.Contender, x.Base, x.Median, x.Least, x.Most)
	}
	if r.Missing != "" {
		fmt.Fprintf(w, "%s: %s\n", doors.PeerName, r.Missing)
	}
	for _, x := range r.Recorded {
		for _, f := range x.Worst {
			fmt.Fprintf(w, "%s: %d returns within five minutes to %s of %s\n", x.Policy, f.Returns, f.Fence, f.Set)
		}
	}
	return nil
}

func (r *Report) writeFlapping(w io.Writer) {
	if len(r.Flapping) == 0 {
		return
	}
	fmt.Fprintf(w, "\nparked on a boundary, error %.1f m\ta position in\tvehicle-days\tevents\ta vehicle-day\t\n", r.Noise)
	for _, f := range r.Flapping {
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%s\t%.2f\t\n", f.Policy, f.Every, f.VehicleDays, figure.Count(f.Events), f.PerDay)
	}
}

func (r *Report) writeDelays(w io.Writer) {
	if len(r.Delays) == 0 {
		return
	}
	fmt.Fprintf(w, "\nthrough a fence of %.0f m at 10 m/s\ta position in\tenter told after\tmin..max\texit told after\tmin..max\tmissed\t\n", side)
	for _, d := range r.Delays {
		fmt.Fprintf(w, "%s\t%s\t%.0f s\t%.0f s..%.0f s\t%.0f s\t%.0f s..%.0f s\t%d\t\n", d.Policy, d.Every,
			d.Enter.Median, d.Enter.Least, d.Enter.Most, d.Exit.Median, d.Exit.Least, d.Exit.Most, d.Missed)
	}
}

func (r *Report) writeThroughput(w io.Writer) {
	if len(r.Throughput) == 0 {
		return
	}
	fmt.Fprintln(w, "\none shard, one processor\tpositions/s\tmin..max\ta second of the processor\tmin..max\tpositions an event\t")
	for _, t := range r.Throughput {
		fmt.Fprintf(w, "%s\t%s\t%s..%s\t", t.Policy, figure.Number(t.PerSecond.Median), figure.Number(t.PerSecond.Least), figure.Number(t.PerSecond.Most))
		if p := t.Processor; p == nil {
			fmt.Fprint(w, "-\t-\t")
		} else {
			fmt.Fprintf(w, "%s\t%s..%s\t", figure.Number(p.Median), figure.Number(p.Least), figure.Number(p.Most))
		}
		fmt.Fprintf(w, "%.1f\t\n", t.Events)
	}
}

func (r *Report) writeDoors(w io.Writer) {
	if len(r.Doors) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", r.Load)
	fmt.Fprintln(w, "through a door\tpositions/s\tmin..max\tack p50\tmin..max\tack p99\tmin..max\tserver CPU a position\tpositions an event\t")
	for i := range r.Doors {
		e := &r.Doors[i]
		fmt.Fprintf(w, "%s\t%s\t%s..%s\t%s\t%s..%s\t%s\t%s..%s\t", e.name(),
			figure.Number(e.PerSecond.Median), figure.Number(e.PerSecond.Least), figure.Number(e.PerSecond.Most),
			figure.Micros(e.P50.Median), figure.Micros(e.P50.Least), figure.Micros(e.P50.Most), figure.Micros(e.P99.Median), figure.Micros(e.P99.Least), figure.Micros(e.P99.Most))
		if e.CPU == nil {
			fmt.Fprint(w, "-\t-\t\n")
		} else {
			fmt.Fprintf(w, "%s\t%.1f\t\n", figure.Micros(e.CPU.Median), e.PerEvent)
		}
	}
}

func (r *Report) writeRules(w io.Writer) {
	x := r.Rules
	if x == nil {
		return
	}
	fmt.Fprintf(w, "\n%s rules, %s objects under %s: %.0f bytes an object, %.0f bytes a rule\n",
		figure.Count(int64(x.Rules)), figure.Count(int64(x.Objects)), x.Policy, x.PerObject, x.PerRule)
	for _, c := range x.Changes {
		fmt.Fprintf(w, "\n%d changes of a rule of %s\tmedian\tmin..max\t\n", c.Changes, c.Of)
		for _, row := range []struct {
			name string
			Spread
		}{
			{"new positions are judged by it after", c.InUse},
			{"it holds for all objects after", c.Everywhere},
			{"a position waits at most meanwhile", c.Wait},
			{"a position waits at most without a change", c.Idle},
		} {
			fmt.Fprintf(w, "%s\t%s\t%s..%s\t\n", row.name, figure.Micros(1000*row.Median), figure.Micros(1000*row.Least), figure.Micros(1000*row.Most))
		}
	}
}

func (r *Report) writeRecorded(w io.Writer) {
	if len(r.Recorded) == 0 {
		return
	}
	fmt.Fprintln(w, "\nrecorded positions\tpositions\tlate\toutliers\trejected\tevents\treturns within 5 min\t")
	for _, x := range r.Recorded {
		var events []string
		for _, kind := range slices.Sorted(maps.Keys(x.Events)) {
			events = append(events, fmt.Sprintf("%d %s", x.Events[kind], kind))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%s\t%d\t\n", x.Policy, figure.Count(int64(x.Positions)), x.Late, x.Outliers, x.Rejected, strings.Join(events, ", "), x.Returns)
	}
}
