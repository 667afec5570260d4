package wire

import "time"

// shellStats counts what the machine does not see. It is guarded by Conn.mu.
type shellStats struct {
	txBytes    uint64
	rxBytes    uint64
	flushes    uint64
	txDropped  uint64 // posts that were not sent for want of room
	rxDropped  uint64 // posts that nobody served, or that found no room
	rxFailed   uint64 // posts whose handler returned an error
	conflated  uint64
	stalled    time.Duration // of posts, waiting for room
	perFlush   [histogramBuckets]uint64
	lastFrames uint64
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
