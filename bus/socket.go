package bus

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

const (
	// blockSize is how much one read takes at most: one batch.
	blockSize = 64 << 10
	// plainSize is the buffer of a connection that cannot read without one.
	plainSize = 16 << 10
	// turn is how many batches of one connection are routed before others that
	// wait for a processor get theirs.
	turn = 4
)

// blocks are the buffers into which batches are read.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// socket is the connection beneath, with the two things that net.Conn has not: a
// write that never waits, and a read that holds no memory while it waits. Where
// the system gives no access (in-memory), the plain methods do.
//
// It is used by one reader and one writer at a time; each has fields of its own.
type socket struct {
	nc  net.Conn
	raw syscall.RawConn // nil: plain

	// The writer's.
	tryOnce  func(fd uintptr) bool
	out      []byte
	written  int
	writeErr error

	// The reader's.
	handle   func(batch []byte) bool
	readErr  error
	tells    bool // the kernel says whether more has come
	receiver nowait.Receiver
}

func (s *socket) init(nc net.Conn) {
	s.nc = nc
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return
	}
	raw := nowait.Raw(nc)
	if raw == nil {
		return
	}
	s.raw, s.tryOnce, s.tells = raw, s.trySyscall, nowait.Tells(raw)
}

// canTry says whether tryWrite works.
func (s *socket) canTry() bool { return s.raw != nil }

// tryWrite writes the bytes that the kernel takes at once.
func (s *socket) tryWrite(b []byte) (n int, err error) {
	s.out, s.written, s.writeErr = b, 0, nil
	if err := s.raw.Write(s.tryOnce); err != nil {
		return 0, err
	}
	s.out = nil
	return s.written, s.writeErr
}

// trySyscall always says that it is done, so that RawConn.Write does not wait.
func (s *socket) trySyscall(fd uintptr) bool {
	s.written, s.writeErr = nowait.Send(fd, s.out)
	return true
}

// readAll calls handle with each batch that comes, until it returns false or a
// read fails. The batch is handle's until it returns.
func (s *socket) readAll(handle func(batch []byte) bool) error {
	s.handle = handle
	if s.raw == nil {
		return s.readPlain()
	}
	if err := s.raw.Read(s.readReady); err != nil {
		return err
	}
	return s.readErr
}

func (s *socket) readPlain() error {
	buf := make([]byte, plainSize)
	for {
		n, err := s.nc.Read(buf)
		if n > 0 && !s.handle(buf[:n]) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readReady reads until nothing is left, and returns false to wait for more. All bytes are handled
// inside it: leaving RawConn.Read and entering it again forgets the kernel's announcements
// meanwhile, so that one read in vain would be needed before each wait. Memory is taken only while
// there is something to read.
//
// Closing the connection waits for this function to return, so handle must not close it.
func (s *socket) readReady(fd uintptr) (done bool) {
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	for round := 1; ; round++ {
		n, more, wait, err := s.receiver.Receive(fd, block[:], s.tells)
		switch {
		case wait:
			return false
		case err != nil:
			s.readErr = err
			return true
		case !s.handle(block[:n]):
			return true
		case !more:
			return false
		case round%turn == 0:
			runtime.Gosched()
		}
	}
}

const (
	// inlineFlush is how many bytes a goroutine that has routed a batch writes for one destination.
	// The rest is left to a writer of its own, so that no router waits long for one busy
	// destination.
	inlineFlush = 256 << 10
	// writePiece is the length of one write of the writer, so that each piece shows progress.
	writePiece = 64 << 10
)

// flush writes the pending output without waiting, unless there is a writer: that one writes the
// added bytes too.
func (c *client) flush() {
	c.mu.Lock()
	c.flushLocked()
	c.mu.Unlock()
}

// flushLocked is flush; c.mu is held but for the writes.
func (c *client) flushLocked() {
	o := &c.out
	switch {
	case o.flushing:
		if o.stuck {
			o.note(time.Now(), c.srv.cfg().WriteDeadline)
		}
		return
	case o.pending == 0:
		c.settle()
		return
	}
	o.flushing = true
	if !c.sock.canTry() {
		c.startWriter()
		return
	}
	budget, whole := inlineFlush, true
	for whole && budget > 0 && o.next() {
		c.mu.Unlock()
		n, err := c.tryWrite(o.flying)
		c.trace.went(o.flying, n)
		c.mu.Lock()
		budget -= n
		whole = o.wrote(n) && err == nil // else the writer meets the error too
	}
	c.srv.counters.flushes.observe(inlineFlush - budget)
	if !whole || o.pending > 0 {
		c.startWriter()
		return
	}
	o.rest()
	c.settle()
}

// tryWrite writes the bytes of s that the kernel takes at once.
func (c *client) tryWrite(s *slab) (n int, err error) {
	if c.transport != nil {
		return c.transport.write(s, false)
	}
	return c.sock.tryWrite(s.rest())
}

// write writes a piece of s, and waits for it.
func (c *client) write(s *slab) (n int, err error) {
	if c.transport != nil {
		return c.transport.write(s, true)
	}
	b := s.rest()
	return c.conn.Write(b[:min(len(b), writePiece)])
}

// startWriter leaves the writing to a goroutine, which may wait. c.mu is held,
// and the caller has the writer's role.
func (c *client) startWriter() {
	c.out.stuck = true
	c.out.note(time.Now(), c.srv.cfg().WriteDeadline)
	c.advanceTimer()
	c.srv.running.Go(c.writeLoop)
}

// writeLoop has the writer's role until nothing is pending or a write fails.
// serve does not return before that.
func (c *client) writeLoop() {
	o := &c.out
	c.mu.Lock()
	defer c.mu.Unlock()
	for o.next() {
		c.mu.Unlock()
		n, err := c.write(o.flying)
		c.trace.went(o.flying, n)
		c.srv.counters.flushes.observe(n)
		c.mu.Lock()
		o.wrote(n)
		if c.room != nil && o.pending < c.srv.stallAt() {
			close(c.room)
			c.room = nil
		}
		if err != nil {
			c.writeFailed(err)
			break
		}
	}
	o.rest()
	c.settle()
}

// writeFailed gives a failed write its reason. The peer cannot be told. c.mu is
// held.
func (c *client) writeFailed(err error) {
	if c.reason == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.closeFor(WriteError)
	}
	c.abort()
	c.out.land()
}

// settle ends the output once the connection has ended and its last byte has
// been written, or never will be. c.mu is held.
func (c *client) settle() {
	if c.reason == 0 || c.settled || c.out.flushing || !c.listed && !c.aborted {
		return
	}
	c.settled = true
	close(c.finished)
	if c.transport != nil && !c.aborted {
		c.transport.bye()
	}
	half, ok := c.conn.(interface{ CloseWrite() error })
	if c.aborted || !ok || half.CloseWrite() != nil {
		c.conn.SetReadDeadline(past)
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(drainTime))
}
