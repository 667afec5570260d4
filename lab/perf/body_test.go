package perf

import (
	"errors"
	"testing"
)

func TestBody(t *testing.T) {
	for _, size := range []int{0, 23, 24, 25, 64, 512, fillPeriod, 3*fillPeriod + 7} {
		id := bodyID{0xfeedfacecafebeef, 7, 1 << 40}
		body := appendBody([]byte("x"), id, size)[1:]
		if len(body) != max(size, bodyHead) {
			t.Fatalf("size %d: %d bytes", size, len(body))
		}
		if got, err := parseBody(body); err != nil || got != id {
			t.Fatalf("size %d: %v, %v", size, got, err)
		}
		if err := checkAnswer(body, id, size); !errors.Is(err, errBody) {
			t.Errorf("size %d: the body itself passed as its answer: %v", size, err)
		}
		toAnswer(body)
		if err := checkAnswer(body, id, size); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
		for _, other := range []bodyID{{id.run + 1, id.lane, id.seq}, {id.run, id.lane + 1, id.seq}, {id.run, id.lane, id.seq + 1}} {
			if err := checkAnswer(body, other, size); !errors.Is(err, errBody) {
				t.Errorf("size %d: taken for the answer to %v: %v", size, other, err)
			}
		}
		if err := checkAnswer(body, id, size+bodyHead+1); !errors.Is(err, errBody) {
			t.Errorf("size %d: taken for a longer one: %v", size, err)
		}
	}
}

// Every bit of a body is covered, the checksum too; a body that was cut as well.
func TestBodyDamage(t *testing.T) {
	whole := appendBody(nil, bodyID{1, 2, 3}, 64)
	for bit := range len(whole) * 8 {
		b := append([]byte(nil), whole...)
		b[bit/8] ^= 1 << (bit % 8)
		if _, err := parseBody(b); !errors.Is(err, errBody) {
			t.Errorf("bit %d flipped: %v", bit, err)
		}
	}
	for n := range whole {
		if _, err := parseBody(whole[:n]); !errors.Is(err, errBody) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	// A whole body with another's fill.
	b := appendBody(nil, bodyID{1, 2, 3}, 64)
	copy(b[bodyHead:], fill(bodyID{1, 2, 4}))
	seal(b)
	if _, err := parseBody(b); !errors.Is(err, errBody) {
		t.Errorf("another's fill: %v", err)
	}
}
