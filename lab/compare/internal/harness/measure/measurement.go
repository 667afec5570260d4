// Package measure holds what a measurement is made of: the window with its warm-up,
// the processor time of both ends within it, and the latencies.
package measure

import "time"

// Operation is what a measurement does.
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

	// Machine is what all processes of the machine have used within the window;
	// zero where it was not read.
	Machine time.Duration
	// ConnBytes is what one idle connection adds to the server's resident memory;
	// zero where that is not what was measured.
	ConnBytes float64
	// Figures are what only one comparison measures, by the harness's name of the
	// metric; they take the place of what is derived from the rest.
	Figures map[string]float64
}

// PerSecond returns operations and payload bytes per second.
func (m *Measurement) PerSecond() (ops, bytes float64) {
	s := m.Elapsed.Seconds()
	return float64(m.Ops) / s, float64(m.Bytes) / s
}
