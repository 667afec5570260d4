package wire

import "testing"

// A goroutine that writes alone soon yields only now and then, and yields each time again
// once another goroutine has appended.
func TestBatchHint(t *testing.T) {
	var h batchHint
	const turns = 10 * aloneProbe
	for range 2 {
		waits := 0
		for turn := range turns {
			likely := h.likely()
			if turn < aloneTurns && !likely {
				t.Fatalf("no yield in turn %d", turn+1)
			}
			if likely {
				waits++
			}
		}
		if most := aloneTurns + turns/aloneProbe; waits != most {
			t.Errorf("%d waits in %d turns alone, want %d", waits, turns, most)
		}
		h.came()
	}
}
