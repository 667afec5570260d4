package wire

import "time"

// maxStreamWindow is how far the window of a stream grows by default: 2.7 Gbit/s
// at a round trip of 50 ms.
const maxStreamWindow = 16 << 20

// tuning finds the window that a stream needs: what is consumed in one round trip
// is what must be under way, and if that is near the window, the window is the
// limit and not the path. It is guarded by Conn.mu.
type tuning struct {
	window int           // bytes that may be under way
	bytes  int           // consumed since
	since  time.Duration // 0: not begun
}

// tune counts n consumed bytes. Once per half window it compares what one round
// trip carries with the window, and if that is more than a third, the window may
// be what limits the peer: it becomes four times as large. So it ends between 3 and
// 12 times what the path holds, after few round trips. Conn.mu is held.
func (s *Stream) tune(n int) {
	t := &s.tuning
	t.bytes += n
	if t.bytes < t.window/2 {
		return
	}
	now := s.c.now()
	elapsed, bytes := now-t.since, t.bytes
	first := t.since == 0
	t.since, t.bytes = now, 0
	rtt := s.c.rtt.min()
	if first || rtt == 0 || elapsed <= 0 {
		return
	}
	perTrip := float64(bytes) * float64(rtt) / float64(elapsed)
	if grown := min(4*t.window, s.c.config.MaxWindow); perTrip > float64(t.window)/3 && grown > t.window {
		s.c.m.Widen(s.id, grown-t.window)
		t.window = grown
	}
}
