package durable

import (
	"fmt"
	"io"
	"text/tabwriter"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
)

// WriteText writes the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s; disk: %s\n", r.Subject, r.FileSystem)
	fmt.Fprintf(w, "%s; %d rounds of %s: medians, with the smallest and the largest\n", r.Load, r.Rounds, r.Duration)
	if r.Busy > float64(r.Machine.Cores)/4 {
		fmt.Fprintf(w, "others used the machine before this run: load average %.1f on %d cores\n", r.Busy, r.Machine.Cores)
	}
	r.writeDisk(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.writeFeeds(table)
	r.writeHTTP(table)
	r.writeRecovery(table)
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	r.writeRecords(w)
	if r.Missing != "" {
		fmt.Fprintf(w, "%s: %s\n", doors.PeerName, r.Missing)
	}
	if f := r.Files; f != nil {
		fmt.Fprintf(w, "journal after a clean end: %s in %d files for %s positions, %.1f bytes each. Records that no checkpoint needs are removed; events are kept.\n",
			figure.Bytes(f.Bytes), f.Files, figure.Count(f.Positions), f.PerPosition)
	}
	for _, x := range r.Ratios {
		what := "positions a second"
		if x.Metric == "p50_us" {
			what = "p50 over HTTP"
		}
		fmt.Fprintf(w, "ratio: %s, %s to %s: %.2f (%.2f to %.2f)\n", what, x.Contender, x.Base, x.Median, x.Least, x.Most)
	}
	return nil
}

func (r *Report) writeDisk(w io.Writer) {
	if d := r.Disk; d != nil {
		fmt.Fprintf(w, "\ndisk: a write of 4 KiB with fdatasync on a preallocated file: p50 %s, p99 %s (%s writes)\n", figure.Micros(d.P50), figure.Micros(d.P99), figure.Count(int64(d.Samples)))
	}
}

func (r *Report) writeFeeds(w io.Writer) {
	if len(r.Feeds) == 0 {
		return
	}
	fmt.Fprintln(w, "\nover wire\tpositions/s\tmin..max\tack p50\tmin..max\tack p99\tmin..max\tserver CPU a position\twritten a position\t")
	for _, f := range r.Feeds {
		fmt.Fprintf(w, "%s\t%s\t%s..%s\t%s\t%s..%s\t%s\t%s..%s\t", f.Name,
			figure.Number(f.PerSecond.Median), figure.Number(f.PerSecond.Least), figure.Number(f.PerSecond.Most),
			figure.Micros(f.P50.Median), figure.Micros(f.P50.Least), figure.Micros(f.P50.Most), figure.Micros(f.P99.Median), figure.Micros(f.P99.Least), figure.Micros(f.P99.Most))
		if f.CPU == nil {
			fmt.Fprint(w, "-\t-\t\n")
		} else {
			fmt.Fprintf(w, "%s\t%.1f B\t\n", figure.Micros(f.CPU.Median), f.Written.Median)
		}
	}
}

// writeRecords describes the records of the load over wire.
func (r *Report) writeRecords(w io.Writer) {
	for _, f := range r.Feeds {
		if f.PerEvent > 0 {
			fmt.Fprintf(w, "%s: an event for every %s positions\n", f.Name, figure.Number(f.PerEvent))
		}
		if f.PerRecord > 0 {
			fmt.Fprintf(w, "%s: %s positions a record, which is durable after %s on average; %s of the time is spent on that\n",
				f.Name, figure.Number(f.PerRecord), figure.Micros(f.Append), figure.Percent(f.Appending))
		}
	}
}

func (r *Report) writeHTTP(w io.Writer) {
	if len(r.HTTP) == 0 {
		return
	}
	fmt.Fprintln(w, "\none HTTP client\tp50\tp99\tpositions\t")
	for _, h := range r.HTTP {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", h.Name, figure.Micros(h.P50), figure.Micros(h.P99), figure.Count(int64(h.Samples)))
	}
	if len(r.HTTP) >= 2 && r.Disk != nil {
		fmt.Fprintf(w, "%s\t%s\t\t\t\n", bound, figure.Micros(r.HTTP[1].P50+3*r.Disk.P50))
	}
}

func (r *Report) writeRecovery(w io.Writer) {
	if len(r.Recovery) == 0 {
		return
	}
	fmt.Fprintln(w, "\nkill -9, then\tfirst look-up\tcursor valid\tstate restored\tpositions before\tfiles\t")
	for _, x := range r.Recovery {
		fmt.Fprintf(w, "%s objects\t%s\t%s\t%s\t%s\t%s\t\n", figure.Count(int64(x.Objects)), ms(x.LookUp), ms(x.Cursor), ms(x.Restored),
			figure.Count(int64(x.Positions)), figure.Bytes(x.Bytes))
	}
}

func ms(f Millis) string { return figure.Micros(float64(f) * 1000) }
