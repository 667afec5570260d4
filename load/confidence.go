package load

import (
	"math"
	"sort"
	"time"

	"paddock/internal/histogram"
)

const (
	// maxParts bounds the parts of a run that are kept apart: beyond, neighbours are
	// merged, and each part is of twice the time.
	maxParts = 64
	// minParts is below how many there is no interval.
	minParts = 8
)

// Confidence gives the intervals in which a run's quantiles lie, with 95 % confidence.
//
// Requests of one second are alike: they waited in the same queue, beside the same
// collection. So it is not they that are drawn anew, but whole blocks of a run's parts
// that follow one another (H. Künsch's moving-block bootstrap), of a length that grows
// with the cube root of their number. Memory is bounded however long the run. It belongs
// to one goroutine. The zero value is ready.
type Confidence struct {
	parts []histogram.Sparse
	span  int // intervals in each part but the last
	last  int // intervals in the last
}

// Add takes the next interval's histogram.
func (c *Confidence) Add(h *histogram.Histogram) {
	s := histogram.Pack(h)
	c.span = max(c.span, 1)
	if n := len(c.parts); n > 0 && c.last < c.span {
		c.parts[n-1] = c.parts[n-1].Merge(s)
		c.last++
		return
	}
	if len(c.parts) == maxParts {
		for i := range maxParts / 2 {
			c.parts[i] = c.parts[2*i].Merge(c.parts[2*i+1])
		}
		clear(c.parts[maxParts/2:])
		c.parts = c.parts[:maxParts/2]
		c.span *= 2
	}
	c.parts, c.last = append(c.parts, s), 1
}

// Quantile is the interval of the quantile q; ok is false if the run has too few parts or
// too few requests for it.
func (c *Confidence) Quantile(q float64) (low, high time.Duration, ok bool) {
	n := len(c.parts)
	counts, all := make([]float64, n), uint64(0)
	for i, p := range c.parts {
		counts[i] = float64(p.Count())
		all += p.Count()
	}
	if n < minParts || !Enough(q, all) {
		return 0, 0, false
	}
	block := blockLength(n)
	d, tail := newDraws(n, block), tail(float64(n)/float64(block))
	total := d.sums(counts)
	return c.end(d, total, q, tail), c.end(d, total, q, 1-tail), true
}

// blockLength is how many parts are drawn together.
func blockLength(n int) int { return int(math.Round(math.Cbrt(float64(n)))) }

// tail is the share of the resamples beyond each end. For few blocks it is less than
// 2.5 %: resamples vary less than runs do, as the normal distribution has shorter tails
// than Student's (the expanded percentile interval of T. Hesterberg, 2015).
func tail(blocks float64) float64 {
	const z = 1.959964
	v := blocks - 1
	t := z + (z*z*z+z)/(4*v) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*v*v)
	return math.Erfc(t*math.Sqrt(blocks/v)/math.Sqrt2) / 2
}

// end is the duration that the quantile of a share of the resamples does not exceed: the
// largest of its bucket. A quantile is in a bucket or before it if so many of the requests
// are, which the later the bucket is the more are, so that halving finds it.
func (c *Confidence) end(d *draws, total []float64, q, share float64) time.Duration {
	at := sort.Search(histogram.Buckets-1, func(i int) bool {
		return c.upTo(d, total, q, i) >= share
	})
	return time.Duration(min(histogram.RangeAt(at).High, int64(histogram.Max)))
}

// upTo is the share of the resamples whose quantile is in bucket i or before it. total is
// how many requests each has.
func (c *Confidence) upTo(d *draws, total []float64, q float64, i int) float64 {
	below := make([]float64, len(c.parts))
	for j, p := range c.parts {
		below[j] = float64(p.UpTo(i))
	}
	hits := 0
	for r, some := range d.sums(below) {
		if some >= q*total[r] {
			hits++
		}
	}
	return float64(hits) / resamples
}

// Needed is how many requests it takes to say something about the quantile q: with 95 %
// confidence at least one of them lies beyond it. 299 for the p99, 2,995 for the p99.9.
func Needed(q float64) uint64 {
	if q <= 0 || q >= 1 { // the least and the largest are themselves
		return 1
	}
	return uint64(math.Ceil(math.Log(0.05) / math.Log(max(q, 1-q))))
}

// Enough reports whether n requests say something about the quantile q.
func Enough(q float64, n uint64) bool { return n >= Needed(q) }
