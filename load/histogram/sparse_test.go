package histogram

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A packed histogram has the quantiles of its source, and adds up to it.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for _, n := range []int{0, 1, 31, 32, 33, 1000, 20_000} {
		h := New()
		for range n {
			h.Record(int64(rng.ExpFloat64() * 1e3))
		}
		s := Pack(h)
		if s.Count() != uint64(n) {
			t.Fatalf("%d of %d durations", s.Count(), n)
		}
		var want uint64
		for i, c := range h.counts {
			if want += c; s.UpTo(i) != want {
				t.Fatalf("%d durations: %d up to bucket %d, which %d are", n, s.UpTo(i), i, want)
			}
		}
		back := New()
		s.AddTo(back)
		s.AddTo(back)
		for i, c := range h.counts {
			if back.counts[i] != 2*c {
				t.Fatalf("%d durations: bucket %d has %d, which had %d twice", n, i, back.counts[i], c)
			}
		}
	}
}

// However many buckets are in use and however often they are packed, a Sparse takes 64 KiB at most
// and is off by no more than its documentation states.
func TestSparseIsBounded(t *testing.T) {
	h := New()
	for range 3 {
		for i := range Buckets {
			if ns := lowest(i); ns <= int64(Max) {
				h.RecordN(ns, 100_000)
			}
		}
		s := Pack(h)
		if n := len(s.cells.bytes); n > 64<<10 || len(s.marks) > sparseCells/markEvery {
			t.Errorf("%d bytes and %d marks", n, len(s.marks))
		}
		for ns := int64(1); ns < int64(time.Hour)/2; ns += 1 + ns/7 {
			all, exact := s.UpTo(bucket(ns)), uint64(0)
			for _, c := range h.counts[:bucket(ns)+1] {
				exact += c
			}
			if less := s.UpTo(bucket(ns) - 16); all > exact || less > all || exact-all > 16*300_000 {
				t.Fatalf("%d up to %d ns, which %d are", all, ns, exact)
			}
		}
		if s.Count() != h.Count() {
			t.Fatalf("%d of %d", s.Count(), h.Count())
		}
		h.Reset()
		s.AddTo(h)
	}
}
