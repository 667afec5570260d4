package wire

import (
	"cmp"
	"slices"
	"time"
)

// maxStreamWindow is how far the window of a stream grows by default: 2.7 Gbit/s
// at a round trip of 50 ms.
const maxStreamWindow = 16 << 20

// stallLimit is how long a stream may hold bytes that nobody reads while the
// connection is short of room for the others.
const stallLimit = 30 * time.Second

// longRate is the rate, in bytes per second, that a long path is thought to carry
// until it has shown what it does: 1 Gbit/s.
const longRate = 125e6

// tuning finds the window that a stream needs: what is consumed in one round trip
// is what must be under way, and if that is near the window, the window is the
// limit and not the path. It is guarded by Conn.mu.
type tuning struct {
	window int // bytes that may be under way
	grown  int // of these, what came on top of the first window
	bytes  int // consumed since
	since  time.Duration
	read   uint64        // consumed in all
	seen   uint64        // read when the clock last looked
	stuck  time.Duration // since when it has been the same
}

// tune counts n consumed bytes. Once per half window it compares what one round
// trip carries with the window, and if that is more than a third, the window may
// be what limits the peer: it becomes four times as large, or what longRate fills.
// So it ends at no more than 12 times what the path holds, after few round trips. All growth together is at
// most half of the connection's budget, so that streams which grew and then stall
// leave room for others. Conn.mu is held.
func (s *Stream) tune(n int) {
	t := &s.tuning
	t.read += uint64(n)
	t.bytes += n
	if t.bytes < t.window/2 {
		return
	}
	now := s.c.now()
	elapsed, bytes := now-t.since, t.bytes
	t.since, t.bytes = now, 0
	rtt := s.c.rtt.min()
	if rtt == 0 || elapsed <= 0 || s.over {
		return
	}
	perTrip := float64(bytes) * float64(rtt) / float64(elapsed)
	room := int(s.c.m.conn.initial)/2 - s.c.grown
	filled := int(rtt.Seconds() * longRate)
	more := min(max(4*t.window, filled), s.c.config.MaxWindow) - t.window
	if more = min(more, room); perTrip > float64(t.window)/3 && more > 0 {
		s.c.m.Widen(s.id, more)
		t.window += more
		t.grown += more
		s.c.grown += more
	}
}

// leave gives the stream's growth back to the others, once nothing is read from it
// any more. Conn.mu is held.
func (s *Stream) leave() {
	s.over = true
	s.c.grown -= s.tuning.grown
	s.tuning.grown = 0
}

// unread is how many bytes of the peer's wait here, of all streams. c.mu is held.
func (c *Conn) unread() int64 {
	w := &c.m.conn
	return w.initial - w.receive - w.owed
}

// stalled finds the streams to be reset because bytes of theirs that nobody reads
// leave less than half of the connection's budget for the others: those that have
// stood still for stallLimit, the longest first, and no more than it takes. c.mu is
// held.
func (c *Conn) stalled(now time.Duration) (victims []*Stream) {
	var still []*Stream
	look := func(s *Stream) {
		if s == nil || s.over {
			return
		}
		t := &s.tuning
		if t.seen != t.read || t.stuck == 0 || c.m.unread(s.id) == 0 {
			t.seen, t.stuck = t.read, now
		}
		if now-t.stuck >= stallLimit {
			still = append(still, s)
		}
	}
	for _, l := range c.ours {
		look(l.stream)
	}
	for _, r := range c.theirs {
		look(r.stream)
	}
	slices.SortFunc(still, func(a, b *Stream) int { return cmp.Compare(a.tuning.stuck, b.tuning.stuck) })
	excess := c.unread() - c.m.conn.initial/2
	for _, s := range still {
		if excess <= 0 {
			break
		}
		excess -= c.m.unread(s.id)
		victims = append(victims, s)
	}
	return victims
}
