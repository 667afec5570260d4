package perf

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"
)

// The arithmetic against the definition, with weights, through many recorders.
func TestLatency(t *testing.T) {
	l := newLatency()
	var all []float64
	var wg sync.WaitGroup
	for i := range 8 {
		r := l.recorder(1)
		for j := range 1000 {
			ns, weight := int64(1000+i*10_000+j*7), 1+j%3
			for range weight {
				all = append(all, float64(ns))
			}
			r.samples[r.n] = sample{ns, int32(weight)}
			r.ops += int64(weight)
			r.n++
			if r.n == len(r.samples) {
				wg.Go(r.flushCopy())
			}
		}
		wg.Go(r.flushCopy())
	}
	wg.Wait()
	s := l.summary("x")
	if s.N != int64(len(all)) || l.done.Load() != s.N {
		t.Fatalf("n is %d, %d done; want %d", s.N, l.done.Load(), len(all))
	}
	var mean, m2 float64
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		m2 += (v - mean) * (v - mean) / float64(len(all))
	}
	near := func(name string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	slices.Sort(all)
	near("mean", s.Mean, mean, 1e-9)
	near("var", s.Var, m2, 1e-9)
	near("sd", s.SD, math.Sqrt(m2), 1e-9)
	rank := func(q float64) float64 { return all[int(math.Ceil(q*float64(len(all))))-1] }
	near("p50", float64(s.P50), rank(0.5), 2e-3)
	near("p90", float64(s.P90), rank(0.9), 2e-3)
	near("p99.99", float64(s.P9999), rank(0.9999), 2e-3)
	near("max", float64(s.Max), all[len(all)-1], 0)
}

// flushCopy empties the recorder and returns the rest of a flush.
func (r *recorder) flushCopy() func() {
	c := *r
	r.n, r.ops = 0, 0
	return c.flush
}

func TestLatencyOverTheRange(t *testing.T) {
	l := newLatency()
	l.add([]sample{{int64(2 * time.Hour), 1}, {-5, 1}})
	s := l.summary("x")
	if s.N != 2 || s.Max != int64(2*time.Hour) || s.P50 != 0 {
		t.Errorf("%+v", s)
	}
	if empty := newLatency().summary("x"); empty != (Latency{Of: "x"}) {
		t.Errorf("nothing timed: %+v", empty)
	}
}

func TestRecorderSamples(t *testing.T) {
	l := newLatency()
	r := l.recorder(10)
	for range 95 {
		r.end(r.begin(), 3, 3)
	}
	r.flush()
	if s := l.summary(""); l.done.Load() != 285 || s.N != 30 {
		t.Errorf("%d done, %d timed; want 285, 30", l.done.Load(), s.N)
	}
}

// In a chain a call begins where the one before has ended, but behind a flush.
func TestRecorderChain(t *testing.T) {
	l := newLatency()
	r := l.recorder(1)
	r.chain = true
	flushes := 0
	for range 1000 {
		r.end(r.begin(), 1, 1)
		if r.n == 0 {
			flushes++
			if !r.last.IsZero() {
				t.Fatal("the time of a flush counts as that of a call")
			}
			continue
		}
		if r.last.IsZero() {
			t.Fatal("the chain is broken")
		}
		if next := r.begin(); next.IsZero() || !r.last.IsZero() {
			t.Fatal("an end was used twice")
		} else {
			r.last = next
		}
	}
	r.flush()
	if n := l.summary("").N; n != 1000 || flushes < 3 {
		t.Errorf("%d timed, %d flushes", n, flushes)
	}
}
