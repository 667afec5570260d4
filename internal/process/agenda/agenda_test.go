package agenda

import (
	"math/rand/v2"
	"testing"
)

// The value that is due first comes first, in whatever order they were added.
func TestOrder(t *testing.T) {
	var h Agenda[int]
	rng := rand.New(rand.NewPCG(1, 2))
	last, popped := int64(0), 0
	for i := range 2000 {
		h.Add(last+rng.Int64N(1000), i)
		if i%3 == 0 {
			at := h.Take().At
			if at < last {
				t.Fatalf("%d behind %d", at, last)
			}
			last, popped = at, popped+1
		}
	}
	for len(h) > 0 {
		at := h.Take().At
		if at < last {
			t.Fatalf("%d behind %d", at, last)
		}
		last, popped = at, popped+1
	}
	if popped != 2000 {
		t.Errorf("%d of 2000", popped)
	}
}
