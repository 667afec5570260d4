// Package pipe provides connections within the process that behave as sockets do: net.Pipe has no
// buffer and no half-close.
package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxWaiting bounds the buffered bytes of each direction. As with a socket, a side can write an
// answer before it has read all of the request.
const maxWaiting = 32 << 10

// Conn is one end of a connection within the process. It behaves as a socket does: with a write
// buffer, deadlines, and two halves. Safe for concurrent use.
type Conn struct {
	in, out *half
	addr    net.Addr
}

var _ net.Conn = (*Conn)(nil)

// New returns both ends of a connection; addr is the address of both.
func New(addr net.Addr) (near, far *Conn) {
	there, back := newHalf(), newHalf()
	return &Conn{in: back, out: there, addr: addr}, &Conn{in: there, out: back, addr: addr}
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.addr }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.addr }

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write implements net.Conn. The error is EPIPE after the other end has closed.
func (c *Conn) Write(b []byte) (int, error) { return c.out.write(b) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.in.readers.set(t) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.out.writers.set(t) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// CloseWrite ends the written half, after the buffered bytes.
func (c *Conn) CloseWrite() error {
	c.out.end(syscall.EPIPE)
	return nil
}

// Close implements net.Conn. Bytes that were written can still be read.
func (c *Conn) Close() error {
	c.out.end(net.ErrClosed)
	c.in.leave()
	return nil
}

// half is one direction.
type half struct {
	mu               sync.Mutex
	readers, writers waiters
	writing          sync.Mutex // one Write at a time
	buf              []byte     // guarded by mu; written and not read
	over             error      // guarded by mu; why no more can be written
	left             bool       // guarded by mu; the reader has closed
}

func newHalf() *half {
	h := &half{}
	h.readers.init(&h.mu)
	h.writers.init(&h.mu)
	return h
}

func (h *half) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.left:
			return 0, net.ErrClosed
		case h.readers.late():
			return 0, os.ErrDeadlineExceeded
		case len(h.buf) > 0 || len(b) == 0:
			n := copy(b, h.buf)
			if h.buf = h.buf[n:]; len(h.buf) == 0 {
				h.buf = nil // an idle connection holds nothing
			}
			h.writers.Broadcast()
			return n, nil
		case h.over != nil:
			return 0, io.EOF
		}
		h.readers.Wait()
	}
}

func (h *half) write(b []byte) (n int, err error) {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.over != nil:
			return n, h.over
		case h.left:
			return n, syscall.EPIPE
		case h.writers.late():
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		}
		if room := min(maxWaiting-len(h.buf), len(b)-n); room > 0 {
			h.buf = append(h.buf, b[n:n+room]...)
			n += room
			h.readers.Broadcast()
			continue
		}
		h.writers.Wait()
	}
}

// end closes the half for writing: the reader finds io.EOF after the buffered bytes.
func (h *half) end(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = why
	h.wake()
}

// leave closes the half for reading.
func (h *half) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left, h.buf = true, nil
	h.wake()
}

// wake wakes all waiters, and stops a timer that would only do the same later.
func (h *half) wake() {
	for _, e := range []*waiters{&h.readers, &h.writers} {
		if e.timer != nil {
			e.timer.Stop()
		}
		e.Broadcast()
	}
}

// waiters is the set of goroutines that wait to read, or to write. Its fields are guarded by the
// mutex of its Cond.
type waiters struct {
	sync.Cond
	deadline time.Time
	timer    *time.Timer
}

func (e *waiters) init(mu *sync.Mutex) { e.L = mu }

func (e *waiters) late() bool { return !e.deadline.IsZero() && !time.Now().Before(e.deadline) }

// set sets the deadline of present and future waiters.
func (e *waiters) set(t time.Time) error {
	e.L.Lock()
	defer e.L.Unlock()
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	if e.deadline = t; !t.IsZero() {
		e.timer = time.AfterFunc(time.Until(t), func() {
			e.L.Lock()
			defer e.L.Unlock()
			e.Broadcast()
		})
	}
	e.Broadcast()
	return nil
}
