package wiretest

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

const ms = instant(time.Millisecond)

// TestSchedule has a link of 1000 bytes per second, a byte each millisecond, and
// 100 ms of delay.
func TestSchedule(t *testing.T) {
	type write struct {
		at instant
		n  int
	}
	for name, c := range map[string]struct {
		writes  []write
		now     instant
		queued  int
		arrived int
		next    instant

		coalesce time.Duration
	}{
		"nothing":               {nil, 5 * ms, 0, 0, never, 0},
		"just written":          {[]write{{0, 10}}, 0, 10, 0, 101 * ms, 0},
		"half has left":         {[]write{{0, 10}}, 5 * ms, 5, 0, 101 * ms, 0},
		"a byte leaves whole":   {[]write{{0, 10}}, 5*ms - 1, 6, 0, 101 * ms, 0},
		"all has left":          {[]write{{0, 10}}, 10 * ms, 0, 0, 101 * ms, 0},
		"first byte is there":   {[]write{{0, 10}}, 101 * ms, 0, 1, 102 * ms, 0},
		"all is there":          {[]write{{0, 10}}, 110 * ms, 0, 10, never, 0},
		"back to back":          {[]write{{0, 10}, {4 * ms, 10}}, 12 * ms, 8, 0, 101 * ms, 0},
		"at the very end":       {[]write{{0, 10}, {10 * ms, 10}}, 115 * ms, 0, 15, 116 * ms, 0},
		"after a pause":         {[]write{{0, 10}, {50 * ms, 10}}, 115 * ms, 0, 10, 151 * ms, 0},
		"the second after it":   {[]write{{0, 10}, {50 * ms, 10}}, 153 * ms, 0, 13, 154 * ms, 0},
		"a queue after a pause": {[]write{{0, 10}, {50 * ms, 200}}, 60 * ms, 190, 0, 101 * ms, 0},

		"told at 104 ms":      {[]write{{0, 10}}, 103 * ms, 0, 0, 104 * ms, 4 * time.Millisecond},
		"told of four":        {[]write{{0, 10}}, 107 * ms, 0, 4, 108 * ms, 4 * time.Millisecond},
		"told of the end":     {[]write{{0, 10}}, 109 * ms, 0, 8, 110 * ms, 4 * time.Millisecond},
		"told of all":         {[]write{{0, 10}}, 110 * ms, 0, 10, never, 4 * time.Millisecond},
		"told of a slow byte": {[]write{{0, 10}}, 105 * ms, 0, 4, 105*ms + 100_000, 300 * time.Microsecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule{rate: 1000, delay: 100 * time.Millisecond, coalesce: c.coalesce}
			for _, w := range c.writes {
				s.send(w.at, w.n)
			}
			s.advance(c.now)
			if q := s.queued(c.now); q != c.queued {
				t.Errorf("queued %d, want %d", q, c.queued)
			}
			if s.arrived != c.arrived {
				t.Errorf("arrived %d, want %d", s.arrived, c.arrived)
			}
			if n := s.next(); n != c.next {
				t.Errorf("next %v, want %v", time.Duration(n), time.Duration(c.next))
			}
		})
	}
}

// TestScheduleTimesAreExact holds the promises that waiters rely on, with rates
// that do not divide a second: at the instant that is promised, and not one
// nanosecond before, the byte is there.
func TestScheduleTimesAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := schedule{rate: 1 + random.Int64N(1e9), delay: time.Duration(random.Int64N(1e9))}
		n := 1 + random.IntN(1e6)
		s.send(instant(random.Int64N(1e15)), n)
		next := s.next()
		if s.advance(next - 1); s.arrived != 0 {
			t.Fatalf("rate %d: %d bytes have arrived before the first", s.rate, s.arrived)
		}
		if s.advance(next); s.arrived == 0 {
			t.Fatalf("rate %d: nothing has arrived when the first byte had to", s.rate)
		}
		if left := s.queued(next.after(-s.delay)); left != n-s.arrived {
			t.Fatalf("rate %d: %d bytes of %d left, %d arrived after the delay", s.rate, n-left, n, s.arrived)
		}
		keep := random.IntN(n)
		at := s.last()
		if at == nil { // a single byte, which has arrived
			continue
		}
		when := s.queuedAtMost(keep)
		if before, then := s.queued(when-1), s.queued(when); before <= keep || then > keep {
			t.Fatalf("rate %d: queue of %d and %d around the instant of %d", s.rate, before, then, keep)
		}
	}
}

func TestScheduleStaysSmallWhileTheLinkIsBusy(t *testing.T) {
	s := schedule{rate: 1000, delay: 100 * time.Millisecond}
	for i := range 10_000 {
		s.send(instant(i)*ms, 1)
	}
	if len(s.bursts) != 1 {
		t.Errorf("%d bursts for one run of bytes", len(s.bursts))
	}
	if n := s.drop(9_999 * ms); n != 1 || s.queued(9_999*ms) != 0 {
		t.Errorf("dropped %d bytes, want 1", n)
	}
	if s.advance(20_000 * ms); s.arrived != 9_999 || len(s.bursts) != 0 {
		t.Errorf("%d bytes arrived, %d bursts stay", s.arrived, len(s.bursts))
	}
}

// TestRing compares with a slice, through all positions of head.
func TestRing(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r ring
	var model []byte
	next := byte(0)
	for range 20_000 {
		switch random.IntN(5) {
		case 0, 1:
			p := make([]byte, random.IntN(300))
			for i := range p {
				p[i] = next
				next++
			}
			r.push(p)
			model = append(model, p...)
		case 2, 3:
			p := make([]byte, random.IntN(300))
			n := r.pop(p)
			if n != min(len(p), len(model)) || !bytes.Equal(p[:n], model[:n]) {
				t.Fatalf("popped %d of %d bytes: %x, want %x", n, len(model), p[:n], model[:n])
			}
			model = model[n:]
		case 4:
			n := random.IntN(min(20, len(model)+1))
			r.truncate(n)
			model = model[:len(model)-n]
		}
		if r.size != len(model) {
			t.Fatalf("holds %d bytes, want %d", r.size, len(model))
		}
	}
}
