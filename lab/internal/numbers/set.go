// Package numbers keeps the numbers of messages that have come, to tell which are missing, came
// twice or out of order.
package numbers

import (
	"slices"
	"sort"
)

// Span is the numbers from first to last.
type Span struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// maxSpans bounds the memory of a set: a lane with more gaps than that has lost
// nearly everything.
const maxSpans = 16_384

// Set is the numbers of a lane that have come, as ascending spans that do not
// touch each other.
type Set struct {
	Spans      []Span
	Duplicates int64
	Disorder   int64 // came behind a higher one
	Overflow   int64 // not kept: too many gaps
}

// Add takes a number that has come, and reports whether it is there for the first time.
func (s *Set) Add(seq uint64) (fresh bool) {
	n := len(s.Spans)
	if n > 0 && s.Spans[n-1].Last+1 == seq {
		s.Spans[n-1].Last = seq
		return true
	}
	if n == 0 || s.Spans[n-1].Last < seq {
		s.insert(n, seq)
		return true
	}
	// The first span that ends at seq or behind it: there is one.
	i := sort.Search(n, func(i int) bool { return s.Spans[i].Last >= seq })
	if s.Spans[i].First <= seq {
		s.Duplicates++
		return false
	}
	s.Disorder++
	before := i > 0 && s.Spans[i-1].Last+1 == seq
	behind := s.Spans[i].First == seq+1
	switch {
	case before && behind:
		s.Spans[i-1].Last = s.Spans[i].Last
		s.Spans = slices.Delete(s.Spans, i, i+1)
	case before:
		s.Spans[i-1].Last = seq
	case behind:
		s.Spans[i].First = seq
	default:
		s.insert(i, seq)
	}
	return true
}

// Count returns how many numbers the set has.
func (s *Set) Count() (n int64) {
	for _, x := range s.Spans {
		n += int64(x.Last - x.First + 1)
	}
	return n
}

func (s *Set) insert(i int, seq uint64) {
	if len(s.Spans) >= maxSpans {
		s.Overflow++
		return
	}
	s.Spans = slices.Insert(s.Spans, i, Span{seq, seq})
}

// Missing returns how many numbers of want are not in have, both ascending and
// without overlaps, and the first up to limit of them.
func Missing(want, have []Span, limit int) (n int64, first []uint64) {
	for _, w := range want {
		next := w.First
		for len(have) > 0 && have[0].Last < w.First {
			have = have[1:]
		}
		gap := func(end uint64) { // next up to, not including, end
			for q := next; q < end && len(first) < limit; q++ {
				first = append(first, q)
			}
			n += int64(end - next)
		}
		for _, h := range have {
			if h.First > w.Last {
				break
			}
			if h.First > next {
				gap(h.First)
			}
			next = max(next, h.Last+1)
		}
		if next <= w.Last {
			gap(w.Last + 1)
		}
	}
	return n, first
}
