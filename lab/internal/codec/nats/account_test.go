package nats

import (
	"math/rand/v2"
	"testing"
)

// A stream knows each number that has come, against a set.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		s, seen, greatest := stream{next: 1}, map[uint64]bool{}, uint64(0)
		for range 500 {
			n := 1 + r.Uint64N(200)
			if s.take(n) == seen[n] {
				t.Fatalf("%d is new: %v", n, !seen[n])
			}
			seen[n], greatest = true, max(greatest, n)
		}
		a := account{streams: map[source]*stream{{}: &s}}
		if got, want := a.gaps(), int64(greatest)-int64(len(seen)); got != want {
			t.Fatalf("%d missing, want %d", got, want)
		}
	}
}

// However many gaps there are, and however they came to be, the room for them is bounded.
func TestStreamIsBounded(t *testing.T) {
	s := stream{next: 1}
	for n := uint64(1); n < 4*maxHoles; n += 2 {
		s.take(n)
	}
	if len(s.holes) != maxHoles {
		t.Errorf("%d holes", len(s.holes))
	}
	const far = 100 * maxHoles
	s.take(far) // a gap, of which parts come
	for n := s.next - 8*maxHoles; n < far; n += 2 {
		s.take(n)
	}
	for n := uint64(far + 2); n < far+8*maxHoles; n += 2 {
		s.take(n)
	}
	if len(s.holes) != maxHoles {
		t.Errorf("%d holes behind one that was filled in parts", len(s.holes))
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
