package loadbench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
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
				if n, ok := resident(pid); ok {
					w.samples = append(w.samples, n)
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

// resident is the memory that a process has now; not ok where /proc does not say.
func resident(pid int) (bytes float64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, false
	}
	var size, pages int64
	if n, _ := fmt.Fscan(strings.NewReader(string(text)), &size, &pages); n < 2 {
		return 0, false
	}
	return float64(pages * int64(os.Getpagesize())), true
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
