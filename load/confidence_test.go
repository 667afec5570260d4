package load_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// An interval of 95 % holds the true quantile in about 95 of 100 runs, though seconds
// that follow one another are alike.
func TestConfidenceCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const trials, seconds, each = 100, 60, 100
	// A second's times are exponential around a level, which follows the one before.
	second := func(h *histogram.Histogram, level *float64) {
		*level = 0.3**level + rng.NormFloat64()
		for range each {
			h.Record(int64(rng.ExpFloat64() * 1e6 * math.Exp(0.1**level)))
		}
	}
	truth, h, level := histogram.New(), histogram.New(), 0.0
	for range 20_000 {
		second(truth, &level)
	}
	median, p99 := truth.Quantile(0.5), truth.Quantile(0.99)
	hits := map[float64]int{}
	for range trials {
		var c load.Confidence
		for range seconds {
			h.Reset()
			second(h, &level)
			c.Add(h)
		}
		for q, want := range map[float64]time.Duration{0.5: median, 0.99: p99} {
			low, high, ok := c.Quantile(q)
			if !ok || low > high {
				t.Fatalf("quantile %v: %v to %v, %v", q, low, high, ok)
			}
			if low <= want && want <= high {
				hits[q]++
			}
		}
	}
	for _, q := range []float64{0.5, 0.99} {
		n := hits[q]
		t.Logf("quantile %v: %d of %d intervals hold it", q, n, trials)
		if n < trials*92/100 {
			t.Errorf("quantile %v: only %d of %d intervals hold it", q, n, trials)
		}
	}
}

// An hour takes no more room than a minute, and loses no request.
func TestConfidenceIsBounded(t *testing.T) {
	var c load.Confidence
	h := histogram.New()
	for i := range 3600 {
		h.Reset()
		h.RecordN(int64(i+1)*1000, 10)
		c.Add(h)
	}
	low, high, ok := c.Quantile(0.5)
	if !ok || low > 1800*time.Microsecond || high < 1800*time.Microsecond || high > 4*time.Millisecond {
		t.Errorf("the median is in %v to %v, %v", low, high, ok)
	}
}

func TestConfidenceOfLittle(t *testing.T) {
	var c load.Confidence
	if _, _, ok := c.Quantile(0.5); ok {
		t.Error("an interval of nothing")
	}
	h := histogram.New()
	h.RecordN(5_000, 30)
	for range 9 {
		c.Add(h)
	}
	if _, _, ok := c.Quantile(0.99); ok {
		t.Error("270 requests say nothing about the p99")
	}
	if low, high, ok := c.Quantile(0.5); !ok || low != high || low < 5_000 || low > 5_005 {
		t.Errorf("%v to %v, %v, where all are 5 µs", low, high, ok)
	}
}

func TestEnough(t *testing.T) {
	for _, c := range []struct {
		q    float64
		from uint64
	}{{0.5, 5}, {0.99, 299}, {0.999, 2995}, {0.9999, 29_956}, {0.01, 299}, {1, 1}, {0, 1}} {
		if load.Enough(c.q, c.from-1) || !load.Enough(c.q, c.from) {
			t.Errorf("quantile %v: not from %d on", c.q, c.from)
		}
	}
}
