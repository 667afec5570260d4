package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
)

// WriteRepeats writes what several runs of the same load had in common: each, their
// median, and how far they lie apart.
func WriteRepeats(w io.Writer, runs []*Run) error {
	var rates []float64
	var p50, p99 []time.Duration
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "run\trate\tp50\tp99\tlamp\t\n")
	for i, r := range runs {
		h := r.Result.Total.Response
		rates, p50, p99 = append(rates, r.Result.PerSecond()), append(p50, h.Quantile(0.5)), append(p99, h.Quantile(0.99))
		fmt.Fprintf(t, "%d\t%s/s\t%s\t%s\t%v\t\n", i+1, figure.Number(rates[i]), figure.Time(p50[i]), figure.Time(p99[i]), r.lamp().Verdict)
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
