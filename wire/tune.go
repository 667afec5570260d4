package wire

import (
	"cmp"
	"slices"
	"time"

	"paddock/internal/wire/machine"
)

// maxStreamWindow is how far the window of a stream grows by default: 2.7 Gbit/s
// at a round trip of 50 ms.
const maxStreamWindow = 16 << 20

// stallLimit is how long a stream may hold unread bytes while the connection is short of room for
// other streams.
const stallLimit = 30 * time.Second

// longRate is the rate, in bytes per second, that a long path is assumed to carry until it was
// measured: 1 Gbit/s.
const longRate = 125e6

const (
	// epochLeast is the least time over which a rate is measured: shorter ones see
	// bursts.
	epochLeast = 10 * time.Millisecond
	// earlyPings is how many epochs ask for the round trip again: the first answer was
	// given by a peer that had just begun.
	earlyPings = 8
	// shortSum bounds the sum of the windows on a short path: with more in flight, bulk data leaves
	// the processor's cache, and small frames wait. With TLS it is secureSum: both ends have more
	// to do, and each needs some of it while the other one is at work.
	shortSum  = 512 << 10
	secureSum = 1 << 20
	// earlyWindow is the window of a stream once half of its first window has been consumed, as
	// long as all streams together have grown by less than on a short path. The answers of a page
	// arrive whole within two round trips then, and a stream that is not read gets no more than the
	// first window.
	earlyWindow = 256 << 10
	// limitShare is the part of the windows that one round trip must carry to show that
	// they are the limit. A peer that is given half a window at a time can be held to
	// half of it.
	limitShare = 0.45
)

// windows finds the credit of all streams of a connection. Conn.mu guards it, and is held in all
// methods.
type windows struct {
	c         *Conn
	grown     int                  // bytes by which windows have grown, of all streams
	late      map[*Stream]struct{} // streams with unread bytes whose slots have other work
	starved   []*Stream            // streams that wait for credit of the connection
	starvedAt time.Duration        // since when
	credit    cond                 // credit of the connection
	epoch     epoch
	rtt       machine.RttFilter
}

// tuning is a stream's part of the search for its window. It is guarded by Conn.mu.
type tuning struct {
	window int // bytes that may be under way
	grown  int // of these, the bytes on top of the first window
	epoch  uint64
	bytes  int           // consumed in this epoch
	got    uint64        // received in all
	read   uint64        // consumed in all
	late   bool          // in windows.late
	seen   uint64        // read when the clock last looked
	stuck  time.Duration // since when it has been the same
}

// epoch finds the windows that the streams of a connection need together. The bytes that arrive in
// one round trip are the bytes that must be in flight. If they are near the sum of the windows of
// the streams that carry them, the windows are the limit, and not the path. The sum counts, since
// bytes in flight beyond the capacity of the path are a queue in front of small frames. It is
// guarded by Conn.mu.
type epoch struct {
	number uint64
	since  time.Duration
	bytes  int // consumed
	busy   int // streams that have consumed an eighth of their window at least
	sum    int // of their windows

	more bool // the epoch before has shown that windows are too small
	fill int  // the window that longRate fills, for each stream that was busy then
}

// tune counts n consumed bytes. In an epoch after one whose windows were too small, each busy
// stream's window doubles, or becomes its part of the bytes that longRate fills. All growth
// together is at most half of the connection's budget, so that streams which grew and then stall
// leave room for others. Conn.mu is held.
func (s *Stream) tune(n int) {
	c, t := s.c, &s.tuning
	w := &c.windows
	e := &w.epoch
	w.endEpoch()
	if t.epoch != e.number {
		t.epoch, t.bytes = e.number, 0
	}
	half := uint64(c.m.Self.StreamInitial) / 2
	if early := t.read < half && t.read+uint64(n) >= half; early && !s.over && w.grown < w.shortSum() {
		s.widen(earlyWindow)
	}
	if t.read += uint64(n); t.late && t.read == t.got {
		w.dropLate(s)
	}
	e.bytes += n
	was := t.bytes
	t.bytes += n
	if least := t.window / 8; was >= least || t.bytes < least {
		return
	}
	if e.more && !s.over {
		s.widen(max(2*t.window, e.fill))
	}
	e.busy++
	e.sum += t.window
}

// widen brings the stream's window nearer to size, as far as the bounds allow. Conn.mu is
// held.
func (s *Stream) widen(size int) {
	c, t := s.c, &s.tuning
	w := &c.windows
	room := int(c.m.Conn.Initial)/2 - w.grown
	more := min(min(size, c.config.MaxWindow)-t.window, room)
	if more <= 0 {
		return
	}
	c.m.Widen(s.slot(), more)
	t.window += more
	t.grown += more
	w.grown += more
}

// endEpoch begins a new epoch when a round trip has passed.
func (w *windows) endEpoch() {
	c, e := w.c, &w.epoch
	now, rtt := c.m.HeardAt, w.rtt.Min()
	elapsed := now - e.since
	if rtt == 0 || elapsed < max(rtt, epochLeast) {
		return
	}
	next := epoch{number: e.number + 1, since: now}
	// A short path's round trip says little: bytes take longer through the two ends than
	// an empty frame does.
	perTrip := float64(e.bytes) * float64(max(rtt, shortPath)) / float64(elapsed)
	if e.number < earlyPings {
		c.m.Ping(now)
	}
	if e.busy > 0 && perTrip > limitShare*float64(e.sum) && (rtt >= shortPath || e.sum < w.shortSum()) {
		next.more, next.fill = true, int(rtt.Seconds()*longRate)/e.busy
	}
	*e = next
}

func (w *windows) shortSum() int {
	if w.c.sock.tls != nil {
		return secureSum
	}
	return shortSum
}

// leave gives the stream's growth back to the others, once nothing is read from it
// any more. Conn.mu is held.
func (s *Stream) leave() {
	s.over = true
	s.c.windows.dropLate(s)
	s.c.windows.grown -= s.tuning.grown
	s.tuning.grown = 0
}

// unread returns the number of bytes that were received and not consumed.
func (t *tuning) unread() int64 { return int64(t.got - t.read) }

// keepLate notes a stream whose slot gets other work, if bytes of it wait to be read.
func (w *windows) keepLate(s *Stream) {
	if s.over || s.tuning.unread() == 0 {
		return
	}
	if w.late == nil {
		w.late = map[*Stream]struct{}{}
	}
	w.late[s] = struct{}{}
	s.tuning.late = true
}

func (w *windows) dropLate(s *Stream) {
	if s.tuning.late {
		s.tuning.late = false
		delete(w.late, s)
	}
}

// starve notes that a stream waits for credit of the connection.
func (w *windows) starve(s *Stream) {
	if len(w.starved) == 0 {
		w.starvedAt = w.c.now()
	}
	s.starved = true
	w.starved = append(w.starved, s)
}

// unstarve lines up the streams that waited for credit of the connection.
func (w *windows) unstarve() {
	w.credit.broadcast()
	for i, s := range w.starved {
		s.starved = false
		s.enterRing()
		w.starved[i] = nil
	}
	w.starved = w.starved[:0]
}

// stalled returns the streams to be reset because their unread bytes leave less than half of the
// connection's budget for the others: streams that have stood still for stallLimit, the longest
// first, and no more than necessary.
func (w *windows) stalled(now time.Duration) (victims []*Stream) {
	c := w.c
	var still []*Stream
	look := func(s *Stream) {
		if s.over {
			return
		}
		t := &s.tuning
		if t.seen != t.read || t.stuck == 0 || t.unread() == 0 {
			t.seen, t.stuck = t.read, now
		}
		if now-t.stuck >= stallLimit {
			still = append(still, s)
		}
	}
	c.slots.streams(look)
	for s := range w.late {
		look(s)
	}
	slices.SortFunc(still, func(a, b *Stream) int { return cmp.Compare(a.tuning.stuck, b.tuning.stuck) })
	in := &c.m.Conn
	excess := in.Initial - in.Receive - in.Owed - in.Initial/2 // unread bytes of all streams over half
	for _, s := range still {
		if excess <= 0 {
			break
		}
		excess -= s.tuning.unread()
		victims = append(victims, s)
	}
	return victims
}
