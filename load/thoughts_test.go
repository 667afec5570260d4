package load

import (
	"math/rand/v2"
	"testing"
)

// The pause that ends first is served first, in whatever order they were added.
func TestThoughts(t *testing.T) {
	var h thoughts
	rng := rand.New(rand.NewPCG(1, 2))
	last, popped := int64(0), 0
	for i := range 2000 {
		h.push(thought{until: last + rng.Int64N(1000)})
		if i%3 == 0 {
			at := h.pop().until
			if at < last {
				t.Fatalf("%d behind %d", at, last)
			}
			last, popped = at, popped+1
		}
	}
	for len(h) > 0 {
		at := h.pop().until
		if at < last {
			t.Fatalf("%d behind %d", at, last)
		}
		last, popped = at, popped+1
	}
	if popped != 2000 {
		t.Errorf("%d of 2000", popped)
	}
}
