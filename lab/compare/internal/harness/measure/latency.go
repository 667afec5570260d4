package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A minute is longer than any window; three digits keep p50 within 0.1 %.
const (
	longestLatency = int64(time.Minute)
	latencyDigits  = 3
)

// Latency is a distribution of latencies.
type Latency struct {
	Count                    int64
	Mean                     time.Duration
	P50, P90, P99, P999, Max time.Duration
}

// NewHistogram returns a histogram of latencies in nanoseconds, up to a minute.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, longestLatency, latencyDigits)
}

// Record adds one latency.
func Record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 1), longestLatency)) // within its bounds by now
}

// Merged returns the sum of histograms, of which there is at least one.
func Merged(histograms []*hdrhistogram.Histogram) *hdrhistogram.Histogram {
	for _, h := range histograms[1:] {
		histograms[0].Merge(h)
	}
	return histograms[0]
}

// LatencyOf summarises a histogram.
func LatencyOf(h *hdrhistogram.Histogram) Latency {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) }
	return Latency{
		Count: h.TotalCount(),
		Mean:  time.Duration(h.Mean()),
		P50:   at(50), P90: at(90), P99: at(99), P999: at(99.9),
		Max: time.Duration(h.Max()),
	}
}
