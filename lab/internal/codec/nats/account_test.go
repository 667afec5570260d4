package nats

import (
	"testing"
)

// Messages that are missing between others are counted, for each publisher.
func TestGaps(t *testing.T) {
	a := newAccount()
	for _, x := range []struct {
		of source
		n  uint64
	}{{source{1, 1}, 1}, {source{1, 1}, 5}, {source{1, 2}, 3}, {source{1, 1}, 4}} {
		a.of(x.of).Add(x.n)
	}
	if n := a.gaps(); n != 4 { // 2 and 3 of the first, 1 and 2 of the second
		t.Errorf("%d gaps", n)
	}
}

func TestOrder(t *testing.T) {
	var o order
	a, b := source{1, 1}, source{1, 2}
	for _, x := range []struct {
		of source
		n  uint64
	}{{a, 1}, {b, 1}, {a, 3}, {b, 2}, {a, 2}, {a, 4}, {b, 1}, {b, 2}, {b, 3}} {
		o.take(x.of, x.n)
	}
	if o.reordered != 2 { // a's 2 and b's second 1
		t.Errorf("%d out of order", o.reordered)
	}
}
