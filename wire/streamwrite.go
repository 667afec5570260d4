package wire

import (
	"cmp"
	"errors"
	"io"
	"os"

	"paddock/internal/wire/frame"
)

// copyLimit is the size up to which bytes are copied into the output, so that the
// caller need not wait for them to leave.
const copyLimit = 4 << 10

// sender is the half of a stream that we send. It is guarded by Conn.mu.
type sender struct {
	pend    []byte // the part of the present Write that is not in the output yet
	waiting bool   // pend is to be sent, though it may be empty
	lent    int    // bytes that the writer has by reference
	inRing  bool
	starved bool          // in Conn.starved
	broken  error         // why nothing can be written any more
	sent    chan struct{} // holds a value once pend is sent and nothing is lent
	tuning  tuning
	over    bool // nothing is read any more
}

// Write sends p. It waits for the peer's credit, and returns once p is in the output or, if it is
// long, in the socket. After the peer has stopped or reset the stream, the error is *Error with its
// code; after the write deadline it is os.ErrDeadlineExceeded. Even with an error, the first n
// bytes were sent. The peer's ReadMsg returns the bytes of one Write as one message.
func (s *Stream) Write(p []byte) (int, error) { return s.writeMessage(p) }

// WriteMsg sends p as one message, which ReadMsg returns as a whole.
func (s *Stream) WriteMsg(p []byte) error {
	_, err := s.writeMessage(p)
	return err
}

// CloseWrite ends our half, behind all that was written. If the peer has stopped it, that is the
// error, and our half has ended all the same.
func (s *Stream) CloseWrite() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.c.mu.Lock()
	err := s.broken
	if ended := s.endWriteLocked(); err == nil || err == errEnded {
		err = ended
	}
	s.c.out.flushAndUnlock(false)
	return err
}

// errEnded is the error of writes after CloseWrite.
var errEnded = errors.New("wire: write after CloseWrite")

// endWriteLocked puts END into the output; once is enough. Conn.mu is held.
func (s *Stream) endWriteLocked() error {
	if s.broken == errEnded {
		return nil
	}
	s.acceptLocked()
	_, err := s.c.m.Data(s.slot(), nil, frame.FlagEnd)
	if err == nil && s.broken == nil {
		s.broken = errEnded
	}
	return err
}

// acceptLocked accepts a stream that the peer waits for. Conn.mu is held.
func (s *Stream) acceptLocked() {
	if s.confirm {
		s.confirm = false
		_ = s.c.m.Respond(s.id, nil, nil, true)
	}
}

func (s *Stream) writeMessage(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.writeBy.over() {
		return 0, os.ErrDeadlineExceeded
	}
	c := s.c
	c.mu.Lock()
	if s.broken != nil {
		defer c.mu.Unlock()
		return 0, s.broken
	}
	s.acceptLocked()
	done, all, err := s.writeShort(p)
	if all || err != nil {
		c.out.wake()
		c.mu.Unlock()
		return done, err
	}
	select {
	case <-s.sent:
	default:
	}
	s.pend, s.waiting = p[done:], true
	s.lineUp()
	c.out.writeFor(s)
	c.mu.Unlock()
	return s.finishWrite(len(p))
}

// writeShort copies p into the output if it is short and no other writer waits for
// its turn. It returns how much of it the credit allowed, and whether that was all: p
// may be empty. Conn.mu is held.
func (s *Stream) writeShort(p []byte) (n int, all bool, err error) {
	if len(p) > copyLimit || len(s.c.out.ring) > 0 || s.c.m.Queued() > maxQueued {
		return 0, false, nil
	}
	n, err = s.c.m.Data(s.id, p, 0)
	switch {
	case errors.Is(err, ErrNoCredit):
		return 0, false, nil
	case err != nil:
		s.stopLocked(err)
		return 0, false, s.broken
	}
	return n, n == len(p), nil
}

// finishWrite waits until the present Write of size bytes has ended. A slice that
// the writer has is waited for whatever happens: the socket's own limit ends that.
func (s *Stream) finishWrite(size int) (int, error) {
	for expired := false; ; {
		var passed <-chan struct{}
		if !expired {
			passed = s.writeBy.wait()
		}
		select {
		case <-s.sent:
		case <-passed:
			expired = s.writeBy.over()
		}
		s.c.mu.Lock()
		if expired {
			s.waiting = false
		}
		if s.lent == 0 && !s.waiting {
			left, err := len(s.pend), error(nil)
			if s.pend = nil; left > 0 {
				err = cmp.Or(s.broken, os.ErrDeadlineExceeded)
			}
			s.c.mu.Unlock()
			return size - left, err
		}
		s.c.mu.Unlock()
	}
}

// lineUp puts the stream into the ring, if it has something to send. Conn.mu is
// held.
func (s *Stream) lineUp() {
	if s.waiting && !s.inRing {
		s.inRing = true
		s.c.out.ring = append(s.c.out.ring, s)
	}
}

// enterRing is lineUp for the case that no write is about to begin. Conn.mu is held.
func (s *Stream) enterRing() {
	s.lineUp()
	s.c.out.mustWake()
}

// send puts up to most bytes into the output. It reports whether there is more that could be sent
// in the next turn. Conn.mu is held, and the stream is out of the ring.
func (s *Stream) send(most int) (n int, more bool) {
	if !s.waiting {
		return 0, false
	}
	m := s.c.m
	size, flags := min(len(s.pend), most), frame.Flags(0)
	if size < len(s.pend) {
		flags = frame.FlagMore
	}
	n, err := m.DataHeader(s.id, size, flags)
	switch {
	case errors.Is(err, ErrNoCredit):
		if m.ConnSend == 0 && !s.starved {
			s.c.windows.starve(s)
		}
		return 0, false
	case err != nil:
		s.stopLocked(err)
		return 0, false
	}
	if n > copyLimit {
		s.c.out.refs = append(s.c.out.refs, ref{at: m.Mark(), body: s.pend[:n:n], stream: s})
		s.lent += n
	} else {
		m.Out = append(m.Out, s.pend[:n]...)
	}
	if s.pend = s.pend[n:]; len(s.pend) > 0 {
		return n, true
	}
	s.waiting = false
	s.written(0)
	return n, false
}

// written records that n bytes have left the caller's slice. Conn.mu is held.
func (s *Stream) written(n int) {
	s.lent -= n
	if s.lent == 0 && (!s.waiting || s.broken != nil) {
		s.wakeWriter()
	}
}

func (s *Stream) wakeWriter() {
	select {
	case s.sent <- struct{}{}:
	default:
	}
}

// stopLocked fails writes from now on. Conn.mu is held.
func (s *Stream) stopLocked(err error) {
	if s.broken == nil {
		s.broken = err
	}
	s.waiting = false
	if s.lent == 0 {
		s.wakeWriter()
	}
}

// directMost is the size up to which the reader of the connection writes a piece to a
// TryWriter itself. Of longer pieces the next one can be read meanwhile.
const directMost = 16 << 10

// TryWriter is a writer that can also write without waiting. See Stream.WriteTo.
type TryWriter interface {
	io.Writer
	// TryWrite writes as much as it can at once, p[:n]. The next Write returns the error, if there
	// was one. It must not use the stream, nor panic.
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
		_, ok, _ = s.writeShort(p)
	}
	s.writing.Unlock()
	if ok {
		c.out.flushAndUnlock(true)
	} else {
		c.mu.Unlock()
	}
	return ok
}

// direct is the destination of received bytes while WriteTo waits.
type direct struct {
	w TryWriter
	n int64 // bytes that w has taken
}

// handedOver counts the bytes that a stream has given to its TryWriter, and that were not reported.
type handedOver struct {
	stream *Stream
	n      int
}

// handOverLocked gives b to a waiting WriteTo, if no bytes are queued before it, and returns how
// much was accepted. It runs on the connection's reader. Stream.mu is held.
func (s *Stream) handOverLocked(in *dispatcher, b []byte) (n int) {
	if s.to == nil || s.failed != nil || len(b) == 0 || len(b) > directMost || !s.queue.empty() {
		return 0
	}
	n = s.to.w.TryWrite(b)
	s.to.n += int64(n)
	in.handed = append(in.handed, handedOver{s, n})
	return n
}

// reportHanded gives the credit of bytes that TryWriters have taken back. Conn.mu is held.
func (d *dispatcher) reportHanded() {
	for i, h := range d.handed {
		if h.n > 0 {
			h.stream.tune(h.n)
			d.c.m.Consume(h.stream.slot(), h.n)
		}
		d.handed[i] = handedOver{}
	}
	d.handed = d.handed[:0]
}
