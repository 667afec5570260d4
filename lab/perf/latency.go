package perf

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"paddock/load/histogram"
)

// latency gathers the times of a run. Routines write to it through recorders.
type latency struct {
	done atomic.Int64 // operations, for the progress of the run

	mu   sync.Mutex
	hist *histogram.Histogram
	n    float64 // calls timed
	mean float64 // ns
	m2   float64 // sum of the squared distances from the mean, ns²
	max  int64   // ns
}

func newLatency() *latency { return &latency{hist: histogram.New()} }

// sample is the time of a call, which counts for so many.
type sample struct {
	ns     int64
	weight int32
}

// flushEvery bounds how far a recorder's figures are behind.
const flushEvery = 100 * time.Millisecond

// recorder is one routine's way into a latency: it buffers, so that a hundred
// routines do not meet at one lock for each call.
type recorder struct {
	to      *latency
	every   int // one call in so many is timed
	skip    int // calls until the next timed one
	ops     int64
	samples [256]sample
	n       int
	flushed time.Time

	// chain: calls follow one another without anything between, so one's end is the
	// next one's beginning, and the clock, which costs about as much as a post, is
	// read once for each.
	chain bool
	last  time.Time // when the call before has ended; zero: something came between
}

func (l *latency) recorder(every int) *recorder {
	return &recorder{to: l, every: every, flushed: time.Now()}
}

// begin returns the time at which a call begins, or zero if it is not timed.
func (r *recorder) begin() (start time.Time) {
	if r.skip > 0 {
		r.skip--
		return start
	}
	r.skip = r.every - 1
	if start, r.last = r.last, start; start.IsZero() {
		start = time.Now()
	}
	return start
}

// end records that the call that began at start has done ops operations, and that
// its time is that of weight of them.
func (r *recorder) end(start time.Time, ops, weight int) {
	r.ops += int64(ops)
	if start.IsZero() {
		return
	}
	now := time.Now()
	r.samples[r.n] = sample{int64(now.Sub(start)), int32(weight)}
	r.n++
	if r.n == len(r.samples) || now.Sub(r.flushed) > flushEvery {
		r.flush()
		r.flushed = now
	} else if r.chain && r.every == 1 {
		r.last = now
	}
}

// flush hands over the recorded times. The routine calls it when it ends.
func (r *recorder) flush() {
	r.to.done.Add(r.ops)
	r.ops = 0
	r.to.add(r.samples[:r.n])
	r.n = 0
}

func (l *latency) add(samples []sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range samples {
		l.hist.RecordN(s.ns, uint64(s.weight))
		// Mean and variance of a weighted sequence (Welford 1962, West 1979).
		w := float64(s.weight)
		l.n += w
		d := float64(s.ns) - l.mean
		l.mean += d * w / l.n
		l.m2 += w * d * (float64(s.ns) - l.mean)
		l.max = max(l.max, s.ns)
	}
}

// Latency is a distribution of times.
type Latency struct {
	Of   string  `json:"of"` // what was timed
	N    int64   `json:"n"`
	Mean float64 `json:"mean_ns"`
	Var  float64 `json:"var_ns2"`
	SD   float64 `json:"sd_ns"`

	P50   int64 `json:"p50_ns"`
	P90   int64 `json:"p90_ns"`
	P99   int64 `json:"p99_ns"`
	P999  int64 `json:"p99_9_ns"`
	P9999 int64 `json:"p99_99_ns"`
	Max   int64 `json:"max_ns"`
}

// summary returns the distribution of the flushed times.
func (l *latency) summary(of string) Latency {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Latency{Of: of, N: int64(l.hist.Count()), Mean: l.mean, Max: l.max}
	if s.N == 0 {
		return s
	}
	s.Var = l.m2 / l.n
	s.SD = math.Sqrt(s.Var)
	for to, q := range map[*int64]float64{&s.P50: 0.5, &s.P90: 0.9, &s.P99: 0.99, &s.P999: 0.999, &s.P9999: 0.9999} {
		*to = int64(l.hist.Quantile(q))
	}
	return s
}
