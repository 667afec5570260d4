package wrk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"paddock/load/histogram"
)

func stats(values ...int64) *Stats {
	s := &Stats{}
	for _, v := range values {
		s.Record(v, 1)
	}
	return s
}

func (s *Stats) text() string {
	return fmt.Sprintf("n %d min %d max %d mean %.2f sd %.2f within %.2f p50 %d p75 %d p90 %d p99 %d",
		s.Count(), s.Min(), s.Max(), s.Mean(), s.StdDev(), s.Within(), s.Percentile(50), s.Percentile(75), s.Percentile(90), s.Percentile(99))
}

// Vectors made by hand, from wrk's definitions.
func TestStats(t *testing.T) {
	for _, tc := range []struct {
		name     string
		stats    *Stats
		expected int64
		want     string
	}{
		{"nothing", stats(), 10, "n 0 min 0 max 0 mean 0.00 sd 0.00 within 0.00 p50 0 p75 0 p90 0 p99 0"},
		{"one", stats(7), 0, "n 1 min 7 max 7 mean 7.00 sd 0.00 within 100.00 p50 7 p75 7 p90 7 p99 7"},
		// sd = sqrt((9 + 1 + 1 + 9) / 3); within are 3 and 5; the ranks are
		// round(2.5), round(3.5), round(4.1), round(4.46).
		{"uncorrected", stats(1, 3, 5, 7), 0, "n 4 min 1 max 7 mean 4.00 sd 2.58 within 50.00 p50 5 p75 7 p90 7 p99 7"},
		// 400 adds 300 and 200, but not 100; 200 would add 100, but that is the expected number.
		// The sum is 1300, that of squares about the mean 68333.33.
		{"corrected", stats(100, 100, 200, 400), 100, "n 6 min 100 max 400 mean 216.67 sd 116.90 within 83.33 p50 200 p75 300 p90 400 p99 400"},
		// 700 and 400 are counted, but lie below the least: sums and walks begin there.
		// The mean is 1000/3, and the rank of the median, 2, is never reached.
		{"below the least", stats(1000), 300, "n 3 min 1000 max 1000 mean 333.33 sd 471.40 within 0.00 p50 0 p75 0 p90 0 p99 0"},
		{"not corrected", stats(100, 1000), 0, "n 2 min 100 max 1000 mean 550.00 sd 636.40 within 100.00 p50 1000 p75 1000 p90 1000 p99 1000"},
		{"nothing was long", stats(100, 199), 100, "n 2 min 100 max 199 mean 149.50 sd 70.00 within 100.00 p50 199 p75 199 p90 199 p99 199"},
	} {
		tc.stats.Correct(tc.expected)
		if got := tc.stats.text(); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestExpected(t *testing.T) {
	for _, tc := range []struct{ runtime, complete, connections, want int64 }{
		{60_000_000, 653_410, 50, 4591}, // 60e6 div 13068
		{10_000_000, 49, 50, 0},         // fewer than one each: not corrected
		{10_000_000, 99, 50, 10_000_000},
		{10, 10_000, 1, 0},
		{10, 10, 0, 0},
	} {
		if got := Expected(tc.runtime, tc.complete, tc.connections); got != tc.want {
			t.Errorf("%v: %d", tc, got)
		}
	}
}

// plain is wrk's correction over one count for each number, without any cells.
func plain(values []int64, expected int64) map[int64]uint64 {
	data, most := map[int64]uint64{}, int64(0)
	for _, v := range values {
		data[v]++
		most = max(most, v)
	}
	for n := 2 * expected; n <= most; n++ {
		for m := n - expected; data[n] > 0 && m > expected; m -= expected {
			data[m] += data[n]
		}
	}
	return data
}

func TestCorrectIsThatOfOneCountEach(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		s, values := &Stats{}, []int64(nil)
		for range 200 {
			v := int64(math.Exp(rng.Float64()*9)) + 1
			values = append(values, v)
			s.Record(v, 1)
		}
		expected := rng.Int64N(500) + 1
		want := plain(values, expected)
		var n, seen uint64
		for _, c := range want {
			n += c
		}
		s.Correct(expected)
		for _, b := range s.Buckets() {
			if want[b.Value] != b.Count {
				t.Fatalf("expected %d: %d was counted %d times, not %d", expected, b.Value, b.Count, want[b.Value])
			}
			seen += b.Count
		}
		for v, c := range want {
			if v < s.Min() {
				seen += c
			}
		}
		if s.Count() != n || seen != n {
			t.Fatalf("expected %d: %d and %d, not %d", expected, s.Count(), seen, n)
		}
	}
}

// The figures from the histogram of a run, which has three digits, are those of wrk, which counts
// each microsecond, within a thousandth. wrk prints most of them with that precision.
func TestFromHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, scale := range []float64{50, 1000, 20_000, 300_000} {
		h, exact := histogram.New(), &Stats{}
		for range 20_000 {
			ns := int64(scale * 1000 * math.Exp(rng.NormFloat64()/2))
			h.Record(ns)
			exact.Record(ns/1000, 1)
		}
		s := FromHistogram(h, 0)
		if s.Min() != exact.Min() || s.Max() != exact.Max() || s.Count() != exact.Count() {
			t.Errorf("%v: %s, not %s", scale, s.text(), exact.text())
		}
		for _, e := range []int64{0, int64(scale / 3)} {
			s.Correct(e)
			exact.Correct(e)
			for _, f := range []struct {
				name      string
				got, want float64
			}{
				{"count", float64(s.Count()), float64(exact.Count())},
				{"mean", s.Mean(), exact.Mean()},
				{"sd", s.StdDev(), exact.StdDev()},
				{"within", s.Within(), exact.Within()},
				{"p50", float64(s.Percentile(50)), float64(exact.Percentile(50))},
				{"p99", float64(s.Percentile(99)), float64(exact.Percentile(99))},
			} {
				if math.Abs(f.got-f.want) > max(f.want/1000, 1) {
					t.Errorf("scale %v, expected %d: %s %v, not %v", scale, e, f.name, f.got, f.want)
				}
			}
		}
	}
}

// Requests that timed out took longest.
func TestFromHistogramWithout(t *testing.T) {
	h := histogram.New()
	for _, ns := range []int64{1000, 2000, 3000, 2e9, 2e9} {
		h.Record(ns)
	}
	for without, want := range map[uint64]string{
		2: "n 3 min 1 max 3 mean 2.00 sd 1.00 within 100.00 p50 2 p75 3 p90 3 p99 3",
		5: "n 0 min 0 max 0 mean 0.00 sd 0.00 within 0.00 p50 0 p75 0 p90 0 p99 0",
		9: "n 0 min 0 max 0 mean 0.00 sd 0.00 within 0.00 p50 0 p75 0 p90 0 p99 0",
	} {
		if got := FromHistogram(h, without).text(); got != want {
			t.Errorf("without %d: %s", without, got)
		}
	}
}

// Times up to an hour take no more room than is promised, and keep their digits.
func TestStatsAreBounded(t *testing.T) {
	s := &Stats{}
	for v := int64(1); v <= 3600e6; v = v*3 + 1 {
		s.Record(v, 1)
		if got := valueOf(cell(v)); math.Abs(float64(got-v)) > float64(v)*8e-6 {
			t.Errorf("%d is counted as %d", v, got)
		}
	}
	if len(s.cells)*8 > 17<<20 {
		t.Errorf("%d cells", len(s.cells))
	}
}
