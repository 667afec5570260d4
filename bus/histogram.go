package bus

import (
	"math/bits"
	"sync/atomic"
)

// A histogram's bounds are powers of four bytes, from 64 to 1 MiB.
const (
	histogramFirst = 6 // its binary logarithm
	histogramSteps = 8
)

// Histogram is a reading of sizes in bytes.
type Histogram struct {
	// Bounds are in ascending order. Counts[i] is of the sizes up to Bounds[i] and
	// above the bound before; the last count is of those above all bounds.
	Bounds []int
	Counts []uint64
	Sum    uint64
}

// histogram counts sizes. The zero value is empty.
type histogram struct {
	counts [histogramSteps + 1]atomic.Uint64
	sum    atomic.Uint64
}

// observe counts one size; 0 is none.
func (h *histogram) observe(n int) {
	if n > 0 {
		h.counts[histogramBin(n)].Add(1)
		h.sum.Add(uint64(n))
	}
}

func histogramBin(n int) int {
	above := max(bits.Len(uint(n-1))-histogramFirst, 0) // powers of two beyond the first
	return min((above+1)/2, histogramSteps)
}

func (h *histogram) reading() Histogram {
	r := Histogram{Sum: h.sum.Load()}
	for i := range h.counts {
		r.Counts = append(r.Counts, h.counts[i].Load())
	}
	for i := range histogramSteps {
		r.Bounds = append(r.Bounds, 1<<(histogramFirst+2*i))
	}
	return r
}
