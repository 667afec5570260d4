package load

import (
	"math/rand/v2"
	"testing"
)

// wake lets w wait for n requests at a distance, on a machine that wakes a thread so late. It
// gives how many of them it slept for, and how many wake-ups came behind their request.
func wake(w *spinWindow, n int, distance int64, lateness func() int64) (slept, missed int) {
	for i := range n {
		late := int64(0)
		if distance > w.ns {
			slept++
			late = lateness()
		}
		if late > w.ns {
			missed++
		} else {
			w.turn(int64(i))
		}
		w.woken(late)
	}
	return slept, missed
}

// Whatever a machine takes to wake a thread, one request in some sixteen is late for it.
func TestSpinWindowLearns(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name     string
		lateness func() int64
		least    int64
		most     int64
	}{
		{"fast", func() int64 { return 3_000 + draw.Int64N(5_000) }, minSpin, minSpin + spinGrow},
		{"slow", func() int64 { return 80_000 + draw.Int64N(20_000) }, 85_000, 115_000},
		{"spread", func() int64 { return int64(20_000 * draw.ExpFloat64()) }, 50_000, 100_000},
		{"held up now and then", func() int64 {
			if draw.IntN(10) == 0 {
				return 5_000_000
			}
			return 20_000
		}, 12_000, 20_000 + spinGrow},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newSpinWindow()
			const far = 1_000_000 // ns
			wake(&w, 5_000, far, c.lateness)
			if w.ns < c.least || w.ns > c.most {
				t.Errorf("a window of %d ns, want %d to %d", w.ns, c.least, c.most)
			}
			const n = 10_000
			_, missed := wake(&w, n, far, func() int64 { // a delay that no window covers is not counted
				for {
					if late := c.lateness(); late <= maxSpin {
						return late
					}
				}
			})
			if missed > n/12 {
				t.Errorf("%d of %d requests were missed", missed, n)
			}
		})
	}
}

// A window that is longer than the distance between requests comes down: a machine that was
// slow for a while is not paid for with a processor for the rest of the run.
func TestSpinWindowSleepsAgain(t *testing.T) {
	w := newSpinWindow()
	const distance = 100_000
	wake(&w, 1_000, distance, func() int64 { return 140_000 })
	if w.ns < distance-spinGrow {
		t.Fatalf("a window of %d ns where waking takes 140 us", w.ns)
	}
	wake(&w, 1_000, distance, func() int64 { return 5_000 })
	if slept, missed := wake(&w, 1_000, distance, func() int64 { return 5_000 }); slept != 1_000 || missed != 0 || w.ns != minSpin {
		t.Errorf("slept for %d of 1,000 requests and missed %d, with a window of %d ns", slept, missed, w.ns)
	}
}
