package ingest

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// latencyWindow is how long one half of the sliding window lasts.
const latencyWindow = 5 * time.Second

// latency is a histogram over the last one to two windows: one half fills while
// the other still counts.
type latency struct {
	mu       *sync.Mutex
	now, old *hdrhistogram.Histogram
	turned   time.Time
}

// Microseconds, to a minute, two digits: 30 KB.
func newLatency() latency {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Minute.Microseconds(), 2) }
	return latency{mu: new(sync.Mutex), now: h(), old: h()}
}

func (l *latency) record(at time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(at)
	_ = l.now.RecordValue(min(max(1, d.Microseconds()), time.Minute.Microseconds()))
}

// turn begins a new half when the present one is over.
func (l *latency) turn(at time.Time) {
	age := at.Sub(l.turned)
	if age < latencyWindow {
		return
	}
	l.now, l.old = l.old, l.now
	l.now.Reset()
	if age >= 2*latencyWindow {
		l.old.Reset()
	}
	l.turned = at
}

func (l *latency) p99(at time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(at)
	both := hdrhistogram.Import(l.now.Export())
	both.Merge(l.old)
	return time.Duration(both.ValueAtQuantile(99)) * time.Microsecond
}
