// Package report presents the result of a run: as text, as an object, and as one HTML file with the
// plots, which loads nothing from any network.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// Run is a run that is over, and everything that is said of it.
type Run struct {
	Title    string // of the run
	Plan     *load.Plan
	Result   *load.Result
	Outcomes []slo.Outcome

	Series    *Series            // nil = not recorded
	Document  *runfile.Document  // run.json, with the rest of what is said of the run
	Directory *runfile.Directory // where its files are; nil = nowhere
}

// quantiles are the quantiles in reports, between the least and the longest.
var quantiles = runfile.Quantiles[1 : len(runfile.Quantiles)-1]

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

// WriteFiles ends the files of the run's directory, and writes the HTML file beside them.
func (r *Run) WriteFiles(dir string) error {
	if err := r.Directory.Finish(r.Document, r.Result); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "report.html"))
	if err != nil {
		return err
	}
	return errors.Join(r.WriteHTML(f), f.Close())
}

// WriteRepeats compares several runs of the same load: each of them, their median, and their
// spread.
func WriteRepeats(w io.Writer, runs []*Run) error {
	var rates []float64
	var p50, p99 []time.Duration
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "run\trate\tp50\tp99\tlamp\t\n")
	for i, r := range runs {
		h := r.Result.Total.Response
		rates, p50, p99 = append(rates, r.Result.PerSecond()), append(p50, h.Quantile(0.5)), append(p99, h.Quantile(0.99))
		fmt.Fprintf(t, "%d\t%s/s\t%s\t%s\t%v\t\n", i+1, figure.Number(rates[i]), figure.Time(p50[i]), figure.Time(p99[i]), r.Document.Verdict.Level)
	}
	for _, line := range []struct {
		name string
		part float64
	}{{"least", 0}, {"median", 0.5}, {"most", 1}} {
		fmt.Fprintf(t, "%s\t%s/s\t%s\t%s\t\t\n", line.name, figure.Number(at(rates, line.part)), figure.Time(at(p50, line.part)), figure.Time(at(p99, line.part)))
	}
	return t.Flush()
}

// at is the value at a part of the way from the least to the most; the median of an even
// number is the upper one.
func at[T cmp.Ordered](values []T, part float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(part*float64(len(sorted)-1)+0.5)]
}
