package perf

import (
	"slices"
	"sort"
)

// span is the numbers from first to last.
type span struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// maxSpans bounds the memory of a set: a lane with more gaps than that has lost
// nearly everything.
const maxSpans = 16_384

// seqSet is the numbers of a lane that have come, as ascending spans that do not
// touch each other.
type seqSet struct {
	spans      []span
	duplicates int64
	disorder   int64 // came behind a higher one
	overflow   int64 // not kept: too many gaps
}

// add takes a number that has come.
func (s *seqSet) add(seq uint64) {
	n := len(s.spans)
	if n > 0 && s.spans[n-1].Last+1 == seq {
		s.spans[n-1].Last = seq
		return
	}
	if n == 0 || s.spans[n-1].Last < seq {
		s.insert(n, seq)
		return
	}
	// The first span that ends at seq or behind it: there is one.
	i := sort.Search(n, func(i int) bool { return s.spans[i].Last >= seq })
	if s.spans[i].First <= seq {
		s.duplicates++
		return
	}
	s.disorder++
	before := i > 0 && s.spans[i-1].Last+1 == seq
	behind := s.spans[i].First == seq+1
	switch {
	case before && behind:
		s.spans[i-1].Last = s.spans[i].Last
		s.spans = slices.Delete(s.spans, i, i+1)
	case before:
		s.spans[i-1].Last = seq
	case behind:
		s.spans[i].First = seq
	default:
		s.insert(i, seq)
	}
}

func (s *seqSet) insert(i int, seq uint64) {
	if len(s.spans) >= maxSpans {
		s.overflow++
		return
	}
	s.spans = slices.Insert(s.spans, i, span{seq, seq})
}

// missing returns how many numbers of want are not in have, both ascending and
// without overlaps, and the first up to limit of them.
func missing(want, have []span, limit int) (n int64, first []uint64) {
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

// Numbers finds posts that are in a journal more than once.
type Numbers struct {
	sets map[Lane]*seqSet
}

// Add takes a record and says whether one of its number was there before.
func (n *Numbers) Add(a Acked) (again bool) {
	if n.sets == nil {
		n.sets = map[Lane]*seqSet{}
	}
	set := n.sets[a.Lane]
	if set == nil {
		set = &seqSet{}
		n.sets[a.Lane] = set
	}
	before := set.duplicates
	set.add(a.Number)
	return set.duplicates > before
}
