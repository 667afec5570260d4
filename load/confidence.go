package load

import (
	"math"
	"slices"
	"sort"
	"time"

	"paddock/load/histogram"
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
// Requests of one second resemble each other: they waited in the same queue, beside the same
// garbage collection. Therefore single requests are not resampled, but whole blocks of consecutive
// parts of the run (H. Künsch's moving-block bootstrap). The length of a block grows with the cube
// root of the number of parts. Memory is bounded for runs of any length, because a part is packed
// when it is over. A Confidence belongs to one goroutine. The zero value is ready.
type Confidence struct {
	parts []histogram.Sparse
	span  int                  // intervals in each part
	open  *histogram.Histogram // the part that is not over; nil = there was none yet
	have  int                  // intervals in it
	boot  *bootstrap           // of all this; nil = something was added since
}

// Add takes the next interval's histogram.
func (c *Confidence) Add(h *histogram.Histogram) {
	if c.open == nil {
		c.open, c.span = histogram.New(), 1
	}
	c.boot = nil
	if c.have == c.span {
		c.closePart()
	}
	c.open.Add(h)
	c.have++
}

// closePart begins the next part. If there are too many, neighbours become one.
func (c *Confidence) closePart() {
	c.parts = append(c.parts, histogram.Pack(c.open))
	c.open.Reset()
	c.have = 0
	if len(c.parts) < maxParts {
		return
	}
	for i := range maxParts / 2 {
		c.parts[2*i].AddTo(c.open)
		c.parts[2*i+1].AddTo(c.open)
		c.parts[i] = histogram.Pack(c.open)
		c.open.Reset()
	}
	clear(c.parts[maxParts/2:])
	c.parts = c.parts[:maxParts/2]
	c.span *= 2
}

// Clone is another that has taken the same.
func (c *Confidence) Clone() *Confidence {
	d := &Confidence{parts: slices.Clone(c.parts), span: c.span, have: c.have}
	if c.open != nil {
		d.open = c.open.Clone()
	}
	return d
}

// Quantile is the interval of the quantile q; ok is false if the run has too few parts or
// too few requests for it. Its ends are those of the buckets of a [histogram.Sparse].
func (c *Confidence) Quantile(q float64) (low, high time.Duration, ok bool) {
	if c.boot == nil {
		c.boot = c.newBootstrap()
	}
	b := c.boot
	if len(b.parts) < minParts || !Enough(q, b.all) {
		return 0, 0, false
	}
	return b.end(q, b.tail), b.end(q, 1-b.tail), true
}

// bootstrap is the resamples of some parts.
type bootstrap struct {
	parts []histogram.Sparse
	all   uint64
	draws *draws
	tail  float64   // the share of the resamples beyond each end
	total []float64 // requests, by resample
	some  []float64 // those of them that are counted now
}

func (c *Confidence) newBootstrap() *bootstrap {
	b := &bootstrap{parts: slices.Clone(c.parts)}
	if c.have > 0 {
		b.parts = append(b.parts, histogram.Pack(c.open))
	}
	n := len(b.parts)
	counts := make([]float64, n)
	for i := range b.parts {
		counts[i] = float64(b.parts[i].Count())
		b.all += b.parts[i].Count()
	}
	if n < minParts {
		return b
	}
	block := blockLength(n)
	b.draws, b.tail = newDraws(n, block), tail(float64(n)/float64(block))
	b.total, b.some = make([]float64, resamples), make([]float64, resamples)
	b.draws.sums(b.total, counts)
	return b
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
func (b *bootstrap) end(q, share float64) time.Duration {
	at := sort.Search(histogram.Buckets-1, func(i int) bool {
		return b.upTo(q, i) >= share
	})
	return time.Duration(min(histogram.RangeAt(at).High, int64(histogram.Max)))
}

// upTo is the share of the resamples whose quantile is in bucket i or before it.
func (b *bootstrap) upTo(q float64, i int) float64 {
	var below [maxParts]float64
	for j := range b.parts {
		below[j] = float64(b.parts[j].UpTo(i))
	}
	b.draws.sums(b.some, below[:len(b.parts)])
	hits := 0
	for r, some := range b.some {
		if some >= q*b.total[r] {
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
