package wrk

import (
	"iter"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"paddock/load/histogram"
)

// The cells: numbers below 2*half are counted one by one, and each doubling above them in
// half equal steps, which are at most 8 ppm of the number wide.
const (
	exactBits = 18
	half      = 1 << (exactBits - 1)
)

// Stats counts whole numbers as wrk does: microseconds, or requests per second. Those below
// 262,144 are counted one by one, larger ones to six digits at least, so that all times up
// to an hour take 16 MiB at most. It belongs to one goroutine. The zero value is empty.
type Stats struct {
	cells    []uint64 // how often each was seen
	count    uint64
	min, max int64 // of the recorded numbers; Correct does not change them
}

// cell is the place of a number.
func cell(v int64) int {
	e := max(bits.Len64(uint64(v))-exactBits, 0)
	return e*half + int(v>>e)
}

// valueOf is the number that stands for those of a cell.
func valueOf(i int) int64 {
	if i < 2*half {
		return int64(i)
	}
	e := i/half - 1
	return int64(i-e*half)<<e + 1<<(e-1)
}

// Record counts a number, 0 or more, n times.
func (s *Stats) Record(value int64, n uint64) {
	if n == 0 {
		return
	}
	if s.count == 0 {
		s.min, s.max = value, value
	}
	s.min, s.max = min(s.min, value), max(s.max, value)
	s.room(value)
	s.cells[cell(value)] += n
	s.count += n
}

// room makes a cell for a number.
func (s *Stats) room(value int64) {
	if need := cell(value) + 1; need > len(s.cells) {
		s.cells = append(s.cells, make([]uint64, need-len(s.cells))...)
	}
}

// FromHistogram counts the times of h in whole microseconds, rounded down, without the longest
// ones: without is the number of requests that timed out. A bucket of the histogram counts as its
// middle, which is at most 0.05 % off. The least time is exact, and so is the largest if none is
// left out.
func FromHistogram(h *histogram.Histogram, without uint64) *Stats {
	s := &Stats{}
	s.room(h.Max().Microseconds())
	keep := h.Count() - min(without, h.Count())
	low, high := int64(h.Min()), int64(h.Max())
	for r, n := range h.All() {
		n = min(n, keep)
		keep -= n
		s.Record(min(max((r.Low+r.High)/2, low), high)/1000, n)
	}
	if s.count > 0 {
		s.min = low / 1000
	}
	if s.count > 0 && without == 0 {
		s.max = high / 1000
	}
	return s
}

// Clone is a Stats that has counted the same.
func (s *Stats) Clone() *Stats {
	c := *s
	c.cells = slices.Clone(s.cells)
	return &c
}

// Correct adds wrk's times for requests that were not sent: for each number from twice the expected
// one on, that number less the expected one, less it again, and so on while it is above the
// expected one. HdrHistogram's correction goes one step further. In a closed run, such requests
// were never due: wrk prints them all the same.
func (s *Stats) Correct(expected int64) {
	if expected <= 0 || s.count == 0 {
		return
	}
	// Added numbers are below the present one, and are not visited again.
	for i := cell(2 * expected); i < len(s.cells); i++ {
		n := s.cells[i]
		if n == 0 || valueOf(i) < 2*expected {
			continue
		}
		for m := valueOf(i) - expected; m > expected; m -= expected {
			s.cells[cell(m)] += n
			s.count += n
		}
	}
}

// Expected returns the time that wrk expects of a request: the mean time per request of each
// connection, in us. 0 = no correction.
func Expected(runtime, complete, connections int64) int64 {
	if connections <= 0 || complete/connections <= 0 {
		return 0
	}
	return runtime / (complete / connections)
}

// Count returns how many numbers were counted, including the numbers that Correct has added.
func (s *Stats) Count() uint64 { return s.count }

// Min is the least number that was recorded; 0 if there is none.
func (s *Stats) Min() int64 { return s.min }

// Max is the largest one; 0 if there is none.
func (s *Stats) Max() int64 { return s.max }

// all yields the numbers from the least recorded one on, in ascending order, with their counts.
// Numbers that Correct has added below the least one are in the count, but in no statistic.
func (s *Stats) all() iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		if s.count == 0 {
			return
		}
		for i := cell(s.min); i < len(s.cells); i++ {
			if n := s.cells[i]; n != 0 && !yield(valueOf(i), n) {
				return
			}
		}
	}
}

// Mean is the sum over the count; 0 if there is none.
func (s *Stats) Mean() float64 {
	mean, _ := s.mean().Float64()
	return mean
}

func (s *Stats) mean() *big.Float {
	var sum uint64
	for v, n := range s.all() {
		sum += uint64(v) * n
	}
	return ratio(sum, s.count)
}

// ratio is a / b, and 0 if b is.
func ratio(a, b uint64) *big.Float {
	return extended(0).Quo(extended(0).SetUint64(a), extended(0).SetUint64(max(b, 1)))
}

// StdDev is the standard deviation of a sample, over one less than the count.
func (s *Stats) StdDev() float64 {
	if s.count < 2 {
		return 0
	}
	mean, sum := s.Mean(), 0.0
	for v, n := range s.all() {
		d := float64(v) - mean
		sum += d * d * float64(n)
	}
	return math.Sqrt(sum / float64(s.count-1))
}

// Within is the percentage of the numbers that are at most a standard deviation from the
// mean; 0 if there is none.
func (s *Stats) Within() float64 {
	percent, _ := s.within().Float64()
	return percent
}

func (s *Stats) within() *big.Float {
	mean, deviation := s.Mean(), s.StdDev()
	var n uint64
	for v, count := range s.all() {
		if x := float64(v); x >= mean-deviation && x <= mean+deviation {
			n += count
		}
	}
	share := ratio(n, s.count)
	return share.Mul(share, extended(100))
}

// Percentile is the first number that p percent of all do not exceed, by wrk's rank; 0 if
// there is none.
func (s *Stats) Percentile(p float64) int64 {
	rank := math.Round(p*float64(s.count)/100 + 0.5)
	var seen uint64
	for v, n := range s.all() {
		if seen += n; float64(seen) >= rank {
			return v
		}
	}
	return 0
}

// Buckets are the numbers that were counted, in ascending order.
func (s *Stats) Buckets() []Bucket {
	var list []Bucket
	for v, n := range s.all() {
		list = append(list, Bucket{v, n})
	}
	return slices.Clip(list)
}

// Bucket is a number and how often it was counted.
type Bucket struct {
	Value int64
	Count uint64
}
