package loadbench

import (
	"slices"
	"sync"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/process"
)

// memoryEvery is how often the memory of a process is looked at.
const memoryEvery = 100 * time.Millisecond

// memoryWatch reads the memory of a process from begin to end. Its goroutine ends with end. The
// kernel's number for a process that has ended is of no use: it includes the memory of the process
// that started it.
type memoryWatch struct {
	ending  chan struct{}
	ended   sync.WaitGroup
	samples []float64 // bytes; read them behind end
}

func (w *memoryWatch) begin(pid int) {
	w.ending = make(chan struct{})
	w.ended.Go(func() {
		ticker := time.NewTicker(memoryEvery)
		defer ticker.Stop()
		for {
			select {
			case <-w.ending:
				return
			case <-ticker.C:
				if use, err := process.Read(pid); err == nil {
					w.samples = append(w.samples, float64(use.Resident))
				}
			}
		}
	})
}

// end turns the readings into figures.
func (w *memoryWatch) end(m *measure.Measurement) {
	close(w.ending)
	w.ended.Wait()
	if len(w.samples) == 0 {
		return
	}
	m.Figures[string(harness.Resident)] = slices.Max(w.samples)
	if g, ok := growth(w.samples); ok {
		m.Figures[string(harness.Growth)] = g
	}
}

// growth is by how much the last quarter of a run has more than the second, in the median:
// the first is its start.
func growth(samples []float64) (float64, bool) {
	n := len(samples) / 4
	if n == 0 {
		return 0, false
	}
	return max(median(samples[len(samples)-n:])-median(samples[n:2*n]), 0), true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
