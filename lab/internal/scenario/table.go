package scenario

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
)

// Report is a load with its results.
type Report struct {
	Load     string        `json:"load"` // its name
	Target   string        `json:"target"`
	Subject  string        `json:"subject"` // the requests
	Duration time.Duration `json:"duration_ns"`
	Rows     []Row         `json:"rows"`
}

// WriteText writes it for a person, the original's figures beside ours.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, %s, %v at each rate\n\n", r.Load, r.Target, r.Subject, r.Duration)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "rate\tsuccess\tp99\tp99 corrected\tmax\tlamp\tgo-http-tunnel\tkoding/tunnel\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(table, "%s/s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", figure.Number(row.PerSecond), row.success(),
			figure.Time(row.P99), figure.Time(row.P99Corrected), figure.Time(row.Max), row.Verdict, theirs(row.Original, goHTTPTunnel), theirs(row.Original, koding))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	r.writeUsed(w)
	_, err := fmt.Fprint(w, `
p99 and max count from when a request was due: what a user waits. "p99 corrected" is the original's column, HdrHistogram's
correction for 1/rate on top of that, which counts stalls twice. The two columns of others are the original's: success,
p99 corrected and max, of four t2.micro machines; only how they compare with each other says something here.
`)
	return err
}

// writeUsed writes the use of the processes, where it is known.
func (r *Report) writeUsed(w io.Writer) {
	for i := range r.Rows {
		row := &r.Rows[i]
		var parts []string
		for _, u := range row.Used {
			each := time.Duration(0)
			if row.Requests > 0 {
				each = u.CPU / time.Duration(row.Requests)
			}
			parts = append(parts, fmt.Sprintf("%s %s CPU a request, %s", u.Name, figure.Time(each), figure.Bytes(u.MaxResident)))
		}
		if len(parts) > 0 {
			if i == 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s/s: %s\n", figure.Number(row.PerSecond), strings.Join(parts, "; "))
		}
	}
}

func goHTTPTunnel(o *Original) Figures { return o.GoHTTPTunnel }
func koding(o *Original) Figures       { return o.Koding }

// theirs writes the figures of another.
func theirs(o *Original, of func(*Original) Figures) string {
	if o == nil {
		return "-"
	}
	f := of(o)
	duration := func(d *time.Duration) string {
		if d == nil {
			return "-"
		}
		return figure.Time(*d)
	}
	return fmt.Sprintf("%.2f %%, %s, %s", f.Success*100, duration(f.P99), duration(f.Max))
}

// success writes the share with three decimals, truncated and not rounded: a share below 1 never
// reads as 100.000 %.
func (r *Row) success() string {
	if r.Requests == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f %%", math.Floor(r.Success*1e5)/1e3)
}
