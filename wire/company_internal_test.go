package wire

import "testing"

// Who is alone soon waits for nobody but now and then, and for everybody again once
// somebody has come.
func TestCompany(t *testing.T) {
	var c company
	const turns = 10 * aloneProbe
	for range 2 {
		waits := 0
		for turn := range turns {
			likely := c.likely()
			if turn < aloneTurns && !likely {
				t.Fatalf("nobody is awaited in turn %d", turn+1)
			}
			if likely {
				waits++
			}
		}
		if most := aloneTurns + turns/aloneProbe; waits != most {
			t.Errorf("%d waits in %d turns alone, want %d", waits, turns, most)
		}
		c.came()
	}
}
