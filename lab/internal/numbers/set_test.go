package numbers

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The set against a map, in random orders with repeats.
func TestSet(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var s Set
		have := map[uint64]bool{}
		var duplicates, disorder int64
		var highest uint64
		for range 1 + r.IntN(200) {
			q := 1 + r.Uint64N(100)
			switch {
			case have[q]:
				duplicates++
			case q < highest:
				disorder++
			}
			highest = max(highest, q)
			had := have[q]
			have[q] = true
			if fresh := s.Add(q); fresh != !had {
				t.Fatalf("seed %d: %d is new: %v", seed, q, fresh)
			}
		}
		if s.Duplicates != duplicates || s.Disorder != disorder {
			t.Fatalf("seed %d: %d duplicates, %d out of order; want %d, %d", seed, s.Duplicates, s.Disorder, duplicates, disorder)
		}
		var got []uint64
		for i, sp := range s.Spans {
			if sp.First > sp.Last || i > 0 && sp.First <= s.Spans[i-1].Last+1 {
				t.Fatalf("seed %d: spans %v", seed, s.Spans)
			}
			for q := sp.First; q <= sp.Last; q++ {
				got = append(got, q)
			}
		}
		var want, absent []uint64
		for q := range uint64(121) {
			if have[q] {
				want = append(want, q)
			} else if q >= 5 && q <= 50 || q >= 60 && q <= 120 {
				absent = append(absent, q)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		n, first := Missing([]Span{{5, 50}, {60, 120}}, s.Spans, 10)
		if n != int64(len(absent)) || !slices.Equal(first, absent[:min(10, len(absent))]) {
			t.Fatalf("seed %d: missing %d, %v; want %v", seed, n, first, absent)
		}
	}
}

func TestSetIsBounded(t *testing.T) {
	var s Set
	for q := range uint64(2 * maxSpans) {
		s.Add(2*q + 1)
	}
	if len(s.Spans) != maxSpans || s.Overflow != maxSpans {
		t.Errorf("%d spans, %d not kept", len(s.Spans), s.Overflow)
	}
}
