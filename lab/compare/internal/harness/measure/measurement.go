// Package measure holds the parts of a measurement: the window with its warm-up, the processor time
// of both ends within it, and the latencies.
package measure

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Operation names the operation of a measurement.
type Operation string

// Options is how long a measurement takes. A warm-up precedes the window.
type Options struct {
	Warmup, Duration time.Duration
}

// Measurement is one window of one operation.
type Measurement struct {
	Ops     int64         // requests answered, messages or writes received
	Bytes   int64         // payload, in one direction
	Elapsed time.Duration // from the first one sent to the last one received
	Client  Usage         // within the window
	Server  Usage
	Latency Latency // of requests or deliveries; zero where none were timed

	// Machine is the processor time of all processes of the machine within the window; zero where
	// it was not read.
	Machine time.Duration
	// ConnBytes is the resident memory of the server for one idle connection; zero in other
	// measurements.
	ConnBytes float64
	// Figures are figures of only one comparison, by the harness's name of the metric; they replace
	// figures that are derived from the rest.
	Figures map[string]float64
}

// PerSecond returns operations and payload bytes per second.
func (m *Measurement) PerSecond() (ops, bytes float64) {
	s := m.Elapsed.Seconds()
	return float64(m.Ops) / s, float64(m.Bytes) / s
}

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
