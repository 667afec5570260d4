package perf

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The set against a map, in random orders with repeats.
func TestSeqSet(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var s seqSet
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
			have[q] = true
			s.add(q)
		}
		if s.duplicates != duplicates || s.disorder != disorder {
			t.Fatalf("seed %d: %d duplicates, %d out of order; want %d, %d", seed, s.duplicates, s.disorder, duplicates, disorder)
		}
		var got []uint64
		for i, sp := range s.spans {
			if sp.First > sp.Last || i > 0 && sp.First <= s.spans[i-1].Last+1 {
				t.Fatalf("seed %d: spans %v", seed, s.spans)
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
		n, first := missing([]span{{5, 50}, {60, 120}}, s.spans, 10)
		if n != int64(len(absent)) || !slices.Equal(first, absent[:min(10, len(absent))]) {
			t.Fatalf("seed %d: missing %d, %v; want %v", seed, n, first, absent)
		}
	}
}

func TestSeqSetIsBounded(t *testing.T) {
	var s seqSet
	for q := range uint64(2 * maxSpans) {
		s.add(2*q + 1)
	}
	if len(s.spans) != maxSpans || s.overflow != maxSpans {
		t.Errorf("%d spans, %d not kept", len(s.spans), s.overflow)
	}
}

func TestNumbers(t *testing.T) {
	var n Numbers
	for i, tc := range []struct {
		a     Acked
		again bool
	}{
		{acked(1, 0, 2), false},
		{acked(1, 0, 1), false},
		{acked(1, 1, 1), false},
		{acked(2, 0, 1), false},
		{acked(1, 0, 2), true},
		{acked(1, 0, 3), false},
	} {
		if got := n.Add(tc.a); got != tc.again {
			t.Errorf("%d: %v is there again: %t", i, tc.a, got)
		}
	}
}
