package wire

import (
	"math/bits"
	"time"

	"paddock/internal/wire/machine"
)

// shellStats counts what the machine does not see. It is guarded by Conn.mu.
type shellStats struct {
	txBytes      uint64
	flushes      uint64
	dropped      uint64 // posts that were not sent or not handled
	droppedBytes uint64 // of those
	unread       uint64 // bytes of streams that came and were not read
	rxFailed     uint64 // posts whose handler returned an error
	conflated    uint64
	stalled      time.Duration // of posts, waiting for room
	perFlush     [histogramBuckets]uint64
	lastFrames   uint64 // that had been handed out before
}

// histogramBuckets is how many powers of two the histogram of frames per write
// has.
const histogramBuckets = 12

// wrote counts a write to the socket.
func (s *shellStats) wrote(n int) {
	if n > 0 {
		s.flushes++
		s.txBytes += uint64(n)
	}
}

// took counts the frames that are about to be written: all of those in t that
// were not before.
func (s *shellStats) took(t *machine.Tally) {
	total := t.Total()
	if n := total - s.lastFrames; n > 0 {
		s.perFlush[min(bits.Len64(n), histogramBuckets)-1]++
	}
	s.lastFrames = total
}

// dropPosts counts received posts that are not handled.
func (s *shellStats) dropPosts(p *Posts) {
	s.dropped += uint64(p.count)
	s.droppedBytes += uint64(len(p.body))
}

// dropPost counts a post that is not sent.
func (s *shellStats) dropPost(body []byte) {
	s.dropped++
	s.droppedBytes += uint64(len(body))
}

// unsentAge bounds from above for how long the oldest byte of the present write
// has waited, from nothing but the times at which writes begin: it was given after
// the write before had begun, or, if the writer was at rest, right now.
type unsentAge struct {
	busy   bool          // a write has begun since the writer was at rest
	began  time.Duration // the present write
	oldest time.Duration
}

func (a *unsentAge) begin(now time.Duration) {
	if a.oldest = now; a.busy {
		a.oldest = a.began
	}
	a.busy, a.began = true, now
}

func (a *unsentAge) rest() { a.busy = false }

func (a *unsentAge) at(now time.Duration) time.Duration {
	if !a.busy {
		return 0
	}
	return now - a.oldest
}
