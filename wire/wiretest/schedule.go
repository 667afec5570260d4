package wiretest

import (
	"math/bits"
	"time"
)

// instant is a moment as nanoseconds since the connection was made, on the
// monotonic clock.
type instant int64

// never is later than every instant that comes.
const never instant = 1<<63 - 1

// after returns t + d, or never.
func (t instant) after(d time.Duration) instant {
	if t == never || instant(d) > never-t {
		return never
	}
	return t + instant(d)
}

// schedule computes when the bytes of one direction leave the sender's queue and when they arrive.
// It is arithmetic: no clock, no bytes, no locks.
//
// The model is a fluid. The link takes bytes from the queue at rate, without a
// pause while the queue holds any, and each arrives delay after it has left. A
// burst is a run of bytes without a pause between them, so its start and its
// length determine the time of each of its bytes, and a link that is always busy
// has a single burst however many writes there were.
//
//	leaves(k-th byte of a burst)  = start + ceil(k / rate)
//	arrives(k-th byte of a burst) = leaves + delay
//
// The reader learns of arrived bytes every coalesce while a burst arrives, and when it has arrived
// completely. Were each byte told at its time, a reader would never sleep, but call again and again
// for the few bytes of a call's length.
type schedule struct {
	rate     int64         // bytes per second; 0: infinite
	delay    time.Duration // one way
	coalesce time.Duration // 0: every byte is told at its time

	// arrived counts bytes that the reader has been told of and has not taken.
	arrived int
	// bursts are on their way, the oldest first. Invariant: a pause lies between
	// two of them, so only the last can have bytes in the queue.
	bursts []burst
}

// burst is a run of bytes that leave back to back.
type burst struct {
	start instant // when its first byte begins to leave
	size  int64   // bytes
	done  int64   // bytes that the reader has been told of
}

// transmission returns how long n bytes take to leave, rounded up.
func (s *schedule) transmission(n int64) time.Duration {
	if s.rate == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(s.rate)-1, 0)
	quotient, _ := bits.Div64(hi+carry, lo, uint64(s.rate))
	return time.Duration(quotient)
}

// transmitted returns how many of the bytes of b have left after d: those whose
// transmission takes no longer.
func (s *schedule) transmitted(b *burst, d time.Duration) int64 {
	if d < 0 {
		return 0
	}
	if s.rate == 0 || d >= s.transmission(b.size) {
		return b.size
	}
	hi, lo := bits.Mul64(uint64(d), uint64(s.rate))
	quotient, _ := bits.Div64(hi, lo, uint64(time.Second))
	return int64(quotient)
}

// end returns when the last byte of b leaves.
func (s *schedule) end(b *burst) instant { return b.start.after(s.transmission(b.size)) }

// last returns the burst that may still grow, or nil.
func (s *schedule) last() *burst {
	if len(s.bursts) == 0 {
		return nil
	}
	return &s.bursts[len(s.bursts)-1]
}

// send puts n bytes into the queue. It reports whether the time changes at which
// a waiting reader has something to read.
func (s *schedule) send(now instant, n int) (news bool) {
	if s.rate == 0 && s.delay == 0 {
		s.arrived += n
		return true
	}
	if b := s.last(); b != nil && now <= s.end(b) {
		b.size += int64(n)
		return false
	}
	s.bursts = append(s.bursts, burst{start: now, size: int64(n)})
	return len(s.bursts) == 1
}

// queued returns how many bytes have not left.
func (s *schedule) queued(now instant) int {
	b := s.last()
	if b == nil {
		return 0
	}
	return int(b.size - s.transmitted(b, time.Duration(now-b.start)))
}

// queuedAtMost returns when no more than n bytes are in the queue, if none is added.
func (s *schedule) queuedAtMost(n int) instant {
	b := s.last()
	if b == nil || b.size <= int64(n) {
		return 0
	}
	return b.start.after(s.transmission(b.size - int64(n)))
}

// advance brings arrived up to now.
func (s *schedule) advance(now instant) {
	for len(s.bursts) > 0 {
		b := &s.bursts[0]
		d := time.Duration(now-b.start) - s.delay
		if s.coalesce > 0 && d > 0 && d < s.transmission(b.size) {
			d -= d % s.coalesce
		}
		done := s.transmitted(b, d)
		s.arrived += int(done - b.done)
		b.done = done
		if b.done < b.size {
			return
		}
		s.bursts = s.bursts[1:]
	}
}

// next returns when the reader is told of more. Call advance first.
func (s *schedule) next() instant {
	if len(s.bursts) == 0 {
		return never
	}
	b := &s.bursts[0]
	d := s.transmission(b.done + 1)
	if s.coalesce > 0 {
		d = min((d+s.coalesce-1)/s.coalesce*s.coalesce, s.transmission(b.size))
	}
	return b.start.after(d).after(s.delay)
}

// take takes n of the arrived bytes.
func (s *schedule) take(n int) { s.arrived -= n }

// drop empties the queue and returns how many bytes it held.
func (s *schedule) drop(now instant) int {
	n := s.queued(now)
	if n > 0 {
		s.last().size -= int64(n)
	}
	return n
}
