package histogram

import "sort"

const (
	// sparseCells bounds the size of a Sparse. Beyond it, 2, 4, 8 or 16 adjacent buckets are
	// counted as the last of them, so that a quantile is off by at most 0.2 %, 0.4 %, 0.8 % or 1.6
	// %.
	sparseCells = 4096
	// markEvery is how many cells lie between two places to begin at.
	markEvery = 32
)

// Sparse holds the counts of a histogram without its empty buckets. Most of the others, at most
// 4,096, take two or three bytes. It does not change.
type Sparse struct {
	cells Cells
	marks []mark // one for each markEvery cells
	count uint64
}

// mark is a place to begin at.
type mark struct {
	first  uint16 // the bucket of the cell behind it; Buckets is below 2^16
	before uint16 // that of the cell before it, from which the distance counts
	offset uint32 // in the cells' bytes
	count  uint64 // of the cells before it
}

// Pack returns the counts of h so far.
func Pack(h *Histogram) Sparse {
	first, counts := h.used()
	group := grouping(first, counts)
	var (
		s       Sparse
		n       uint64 // of the group that is counted
		cells   int
		through = first | group // the last bucket of that group
	)
	end := func() {
		if n == 0 {
			return
		}
		if cells%markEvery == 0 {
			s.marks = append(s.marks, mark{uint16(through), uint16(s.cells.last), uint32(len(s.cells.bytes)), s.count})
		}
		s.cells.Append(through, n)
		s.count += n
		cells++
	}
	for i, c := range counts {
		if at := (first + i) | group; at != through {
			end()
			through, n = at, 0
		}
		n += c
	}
	end()
	s.cells.Clip()
	return s
}

// grouping is the low bits of a bucket that have to be left out for all to fit.
func grouping(first int, counts []uint64) (mask int) {
	for ; ; mask = mask<<1 | 1 {
		cells, last := 0, -1
		for i, c := range counts {
			if at := (first + i) | mask; c != 0 && at != last {
				cells, last = cells+1, at
			}
		}
		if cells <= sparseCells {
			return mask
		}
	}
}

// AddTo counts everything in h.
func (s *Sparse) AddTo(h *Histogram) {
	for i, n := range s.cells.All() {
		h.RecordN(lowest(i), n)
	}
}

// UpTo is how many of the durations lie in bucket i, 0 to Buckets-1, or in one before it.
func (s *Sparse) UpTo(i int) uint64 {
	at := sort.Search(len(s.marks), func(m int) bool { return int(s.marks[m].first) > i }) - 1
	if at < 0 {
		return 0
	}
	m := &s.marks[at]
	sum := m.count
	r := cellReader{rest: s.cells.bytes[m.offset:], place: int(m.before)}
	for r.next() && r.place <= i {
		sum += r.n
	}
	return sum
}

// Count is how many durations were recorded.
func (s *Sparse) Count() uint64 { return s.count }
