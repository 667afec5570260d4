package runfile

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"paddock/load/histogram"
)

const (
	// ticksPerHalf is how many percentiles are written on the way to 50 %, to 75 %, to
	// 87.5 %, and so on.
	ticksPerHalf = 5
	// The description of the buckets in HdrHistogram's output, for three digits from 1 ns to an
	// hour.
	hdrBuckets, hdrSubBuckets = 32, 2048
)

// WritePercentiles writes a histogram's percentiles in ms, as HdrHistogram and wrk2 do and
// plotFiles reads it: " Value Percentile TotalCount 1/(1-Percentile)", with more lines the
// nearer it comes to 100 %, and a footer.
func WritePercentiles(w io.Writer, h *histogram.Histogram) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	if n := h.Count(); n > 0 {
		percentiles(&b, h, n)
	}
	fmt.Fprintf(&b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", milliseconds(h.Mean()), milliseconds(h.StdDev()))
	fmt.Fprintf(&b, "#[Max     = %12.3f, Total count    = %12d]\n", milliseconds(h.Max()), h.Count())
	fmt.Fprintf(&b, "#[Buckets = %12d, SubBuckets     = %12d]\n", hdrBuckets, hdrSubBuckets)
	_, err := w.Write(b.Bytes())
	return err
}

// percentiles writes a line for each level that the counts reach. The levels have equal steps
// within each halving of the distance to 100 %, and the same number of steps in each.
func percentiles(b *bytes.Buffer, h *histogram.Histogram, n uint64) {
	level, seen := 0.0, uint64(0) // level in %
	for r, count := range h.All() {
		seen += count
		ms := float64(min(r.High, int64(h.Max()))) / 1e6
		if seen == n {
			if level < 100 {
				percentile(b, ms, level, seen)
			}
			percentile(b, ms, 100, seen)
			return
		}
		for at := 100 * float64(seen) / float64(n); level <= at; level = next(level) {
			percentile(b, ms, level, seen)
		}
	}
}

func next(level float64) float64 {
	halvings := math.Floor(math.Log2(100/(100-level))) + 1
	return level + 100/(ticksPerHalf*math.Exp2(halvings))
}

func percentile(b *bytes.Buffer, ms, level float64, seen uint64) {
	if level == 100 {
		fmt.Fprintf(b, "%12.3f %2.12f %10d\n", ms, 1.0, seen)
		return
	}
	fmt.Fprintf(b, "%12.3f %2.12f %10d %14.2f\n", ms, level/100, seen, 100/(100-level))
}
