// Package measure holds the parts of a measurement: the window with its warm-up, the processor time
// of both ends within it, and the latencies.
package measure

import (
	"time"

	"paddock/load/histogram"
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
	// Figures are figures of only one comparison, by the harness's name of the metric; they replace
	// figures that are derived from the rest.
	Figures map[string]float64
}

// PerSecond returns operations and payload bytes per second.
func (m *Measurement) PerSecond() (ops, bytes float64) {
	s := m.Elapsed.Seconds()
	return float64(m.Ops) / s, float64(m.Bytes) / s
}

// Latency is a distribution of latencies.
type Latency struct {
	Count                    int64
	Mean                     time.Duration
	P50, P90, P99, P999, Max time.Duration
}

// LatencyOf summarises the sum of some histograms.
func LatencyOf(all ...*histogram.Histogram) Latency {
	sum := histogram.New()
	for _, h := range all {
		sum.Add(h)
	}
	return Latency{
		Count: int64(sum.Count()), Mean: sum.Mean(),
		P50: sum.Quantile(0.5), P90: sum.Quantile(0.9), P99: sum.Quantile(0.99), P999: sum.Quantile(0.999), Max: sum.Max(),
	}
}
