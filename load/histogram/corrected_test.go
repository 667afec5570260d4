package histogram_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"paddock/load/histogram"
)

// Corrected counts as HdrHistogram does when it records each value as corrected.
func TestCorrected(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, every := range []time.Duration{time.Nanosecond * 700, time.Microsecond, time.Millisecond, 1_666_666, time.Second} {
		ours, theirs := histogram.New(), hdrhistogram.New(1, int64(histogram.Max), 3)
		for range 200 {
			ns := histogram.RangeOf(rng.Int64N(int64(every) * 2000)).High // as exact as a bucket is
			ours.Record(ns)
			if err := theirs.RecordCorrectedValue(ns, int64(every)); err != nil {
				t.Fatal(err)
			}
		}
		before := ours.Count()
		corrected := ours.Corrected(every)
		if ours.Count() != before || corrected.Count() != uint64(theirs.TotalCount()) {
			t.Errorf("every %v: %d durations, want %d", every, corrected.Count(), theirs.TotalCount())
		}
		counts := map[int64]uint64{}
		for _, bar := range theirs.Distribution() {
			if bar.Count > 0 {
				counts[bar.From] = uint64(bar.Count)
			}
		}
		for r, n := range corrected.All() {
			if counts[r.Low] != n {
				t.Errorf("every %v: %d durations from %d, want %d", every, n, r.Low, counts[r.Low])
			}
		}
	}
}

// Where no answer took longer than the distance between requests, nothing was left out.
func TestCorrectedNothing(t *testing.T) {
	h := histogram.New()
	h.Record(int64(time.Millisecond))
	h.Record(int64(1900 * time.Microsecond))
	if c := h.Corrected(time.Millisecond); c.Count() != 2 {
		t.Errorf("%d durations", c.Count())
	}
	h.Record(int64(4 * time.Millisecond))
	if c := h.Corrected(time.Millisecond); c.Count() != 3+3 || c.Min() > time.Millisecond+time.Microsecond {
		t.Errorf("%d durations from %v", c.Count(), c.Min())
	}
}
