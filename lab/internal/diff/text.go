package diff

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"paddock/lab/internal/figure"
)

// WriteText writes the comparison for a person.
func (r *Result) WriteText(w io.Writer) error {
	var b bytes.Buffer
	for _, s := range []struct {
		name string
		of   *Summary
	}{{"A", &r.A}, {"B", &r.B}} {
		var lamps []string
		for _, level := range slices.Sorted(maps.Keys(s.of.Verdict)) {
			lamps = append(lamps, fmt.Sprintf("%d %s", s.of.Verdict[level], level))
		}
		fmt.Fprintf(&b, "%s  %s: runs %d (lamp: %s), failed %s\n", s.name, figure.Text(s.of.Path), s.of.Runs, strings.Join(lamps, ", "), figure.Percent(s.of.Failed))
		if s.of.Title != "" {
			fmt.Fprintf(&b, "   %s; %s\n", figure.Text(s.of.Title), figure.Text(s.of.Load))
		}
	}
	sample := "each run is a sample"
	if r.Part > 0 {
		sample = fmt.Sprintf("each part of %d s is a sample", r.Part)
	}
	fmt.Fprintf(&b, "\nmedians; %s; the change with its 95 %% interval; p by Mann-Whitney, for all figures together\n\n", sample)
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\tA\tB\tchange\tinterval\tp\toutcome\t\n")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t", row.Metric, row.median(row.A), row.median(row.B))
		if row.P == nil {
			fmt.Fprintf(t, "\t\t\t%s\t\n", row.Outcome)
			continue
		}
		p := *row.P
		if row.Adjusted != nil {
			p = *row.Adjusted
		}
		fmt.Fprintf(t, "%s\t%s to %s\t%.3f\t%s\t\n", signed(*row.Change), signed(*row.Low), signed(*row.High), p, row.Outcome)
	}
	_ = t.Flush() // to memory
	for _, row := range r.Rows {
		if row.Why != "" {
			fmt.Fprintf(&b, "\n%s unknown: %s", row.Metric, row.Why)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s", figure.Text(note))
	}
	fmt.Fprintln(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Row) median(c *Center) string {
	if c == nil {
		return "-"
	}
	return r.text(c.Median)
}

// signed is a change as "+3.1 %".
func signed(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }
