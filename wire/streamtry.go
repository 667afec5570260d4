package wire

import "io"

// directMost is the size up to which the reader of the connection writes a piece to a
// TryWriter itself. Of longer pieces the next one can be read meanwhile.
const directMost = 16 << 10

// TryWriter is a writer that can also write without waiting. See Stream.WriteTo.
type TryWriter interface {
	io.Writer
	// TryWrite writes what can be written at once, which is p[:n]. If something was in the
	// way, the Write that follows says so. It must not use the stream, nor panic.
	TryWrite(p []byte) (n int)
}

// TryWrite is Write for a short p that never waits: ok is false if Write would, or would
// fail, or if p is longer than 4 KiB; nothing was sent then. Concurrent calls
// share one write to the socket.
//
// hot: BenchmarkTryWrite, TestTryWriteDoesNotAllocate.
func (s *Stream) TryWrite(p []byte) (ok bool) {
	if len(p) == 0 || len(p) > copyLimit || !s.writing.TryLock() {
		return false
	}
	c := s.c
	c.mu.Lock()
	if s.broken == nil && !s.writeBy.over() && c.m.SendRoom(s.id) >= len(p) {
		_, ok, _ = s.writeShort(p, 0)
	}
	s.writing.Unlock()
	if ok {
		c.flushAndUnlock(true)
	} else {
		c.mu.Unlock()
	}
	return ok
}

// direct is where WriteTo wants what comes, while it waits.
type direct struct {
	w TryWriter
	n int64 // bytes that w has taken
}

// handedOver is what a stream has given to its TryWriter, and not reported.
type handedOver struct {
	stream *Stream
	n      int
}

// handOverLocked gives b to who waits in WriteTo, if nothing is in front of it, and returns
// how much was taken. It runs on the connection's reader; Stream.mu is held.
func (s *Stream) handOverLocked(in *reader, b []byte) (n int) {
	if s.to == nil || s.failed != nil || len(b) == 0 || len(b) > directMost || !s.queue.empty() {
		return 0
	}
	n = s.to.w.TryWrite(b)
	s.to.n += int64(n)
	in.handed = append(in.handed, handedOver{s, n})
	return n
}

// reportHanded gives the credit of what TryWriters have taken back. c.mu is held.
func (c *Conn) reportHanded() {
	for i, h := range c.in.handed {
		if h.n > 0 {
			h.stream.tune(h.n)
			c.m.Consume(h.stream.id, h.n)
		}
		c.in.handed[i] = handedOver{}
	}
	c.in.handed = c.in.handed[:0]
}
