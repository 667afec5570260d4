package histogram_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"paddock/load/histogram"
)

// ranges are where durations lie: one distribution for each order of magnitude.
func sample(rng *rand.Rand, n int) []int64 {
	var all []int64
	for range n {
		all = append(all, rng.Int64N(1<<(1+rng.IntN(41))))
	}
	return all
}

// A quantile is at most 0.1 % above the value that sorting finds, and never below it.
func TestQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	values := sample(rng, 100_000)
	h := histogram.New()
	for _, v := range values {
		h.Record(v)
	}
	slices.Sort(values)
	for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1} {
		rank := max(int(q*float64(len(values))), 1)
		want, got := values[rank-1], int64(h.Quantile(q))
		if got < want || float64(got) > float64(want)*1.001+1 {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if h.Count() != uint64(len(values)) || int64(h.Min()) != values[0] || int64(h.Max()) != values[len(values)-1] {
		t.Errorf("%d values from %v to %v", h.Count(), h.Min(), h.Max())
	}
}

// Every value is in the bucket that says so, and buckets leave nothing out.
func TestBuckets(t *testing.T) {
	for e := range 42 {
		for _, v := range []int64{1<<e - 1, 1 << e, 1<<e + 1} {
			if v > int64(histogram.Max) {
				continue
			}
			h := histogram.New()
			h.Record(v)
			for r, n := range h.All() {
				if v < r.Low || v > r.High || n != 1 || float64(r.High-r.Low) > float64(r.Low)/1000 {
					t.Errorf("%d: %d in %d to %d", v, n, r.Low, r.High)
				}
			}
		}
	}
}

// Merged histograms are the histogram of all that was recorded.
func TestAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	parts := []*histogram.Histogram{histogram.New(), histogram.New(), histogram.New()}
	all := histogram.New()
	for i, v := range sample(rng, 30_000) {
		all.Record(v)
		parts[i%3].Record(v)
	}
	merged := histogram.New()
	for _, p := range parts {
		merged.Add(p)
	}
	same(t, merged, all)
	same(t, merged.Clone(), all)
	merged.Reset()
	same(t, merged, histogram.New())
}

func same(t *testing.T, got, want *histogram.Histogram) {
	t.Helper()
	counts := func(h *histogram.Histogram) (all []uint64) {
		for r, n := range h.All() {
			all = append(all, uint64(r.Low), n)
		}
		return append(all, h.Clamped(), uint64(h.Min()), uint64(h.Max()))
	}
	if !slices.Equal(counts(got), counts(want)) {
		t.Error("the histograms differ")
	}
}

// A value out of range is counted at the nearer end.
func TestClamped(t *testing.T) {
	h := histogram.New()
	h.Record(-5)
	h.Record(int64(2 * time.Hour))
	h.RecordN(int64(3*time.Hour), 4)
	h.RecordN(7, 3)
	if h.Clamped() != 6 || h.Count() != 9 || h.Min() != 0 || h.Max() != time.Hour {
		t.Errorf("%d of %d clamped, %v to %v", h.Clamped(), h.Count(), h.Min(), h.Max())
	}
}

func TestMoments(t *testing.T) {
	h := histogram.New()
	h.RecordN(1_000, 3)
	h.RecordN(2_000, 1)
	if m, d := h.Mean(), h.StdDev(); m != 1250 || d != 433 {
		t.Errorf("mean %d, standard deviation %d", m, d)
	}
	if e := histogram.New(); e.Mean() != 0 || e.StdDev() != 0 || e.Quantile(0.5) != 0 || e.Min() != 0 {
		t.Error("an empty histogram has no values")
	}
}

func TestDoesNotAllocate(t *testing.T) {
	h := histogram.New()
	if n := testing.AllocsPerRun(1000, func() { h.Record(123_456) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	values := sample(rand.New(rand.NewPCG(5, 6)), 1<<12)
	h := histogram.New()
	i := 0
	for b.Loop() {
		h.Record(values[i%len(values)])
		i++
	}
}
