package wiretest

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// Pipe returns the two ends of a connection in memory, each of which holds up to
// bufBytes written bytes that the other has not read; 64 KiB if bufBytes is not
// positive. A Write that finds no room waits. The ends also have the methods
// CloseWrite and SetLinger of [net.TCPConn].
func Pipe(bufBytes int) (a, b net.Conn) {
	return connect("pipe", LinkConfig{Buffer: bufBytes}.withDefaults())
}

// connect returns the two ends of a connection over two directions of one kind.
func connect(network string, l LinkConfig) (a, b *conn) {
	c := newClock()
	there, back := newHalf(c, l), newHalf(c, l)
	a = &conn{in: back, out: there, local: addr{network, "a"}, remote: addr{network, "b"}}
	b = &conn{in: there, out: back, local: a.remote, remote: a.local}
	return a, b
}

// addr is the address of one end: network "pipe" or "link", name "a" or "b".
type addr struct{ network, name string }

func (a addr) Network() string { return a.network }
func (a addr) String() string  { return a.network + ":" + a.name }

// conn is one end of a connection in memory. Its methods may be called at the
// same time.
type conn struct {
	in, out       *half
	local, remote addr

	mu     sync.Mutex // never held while in or out waits
	abrupt bool       // Close resets
	closed bool
}

var _ net.Conn = (*conn)(nil)

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, opError("read", c, err)
}

// Write implements [net.Conn]. It copies p.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, opError("write", c, err)
}

// CloseWrite ends the written half: the peer reads io.EOF after it. A Write that still waits fails
// with EPIPE.
func (c *conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("close", c, net.ErrClosed)
	}
	c.out.shut(syscall.EPIPE)
	return nil
}

// SetLinger makes Close a reset if sec is 0, as the method of [net.TCPConn] does. Any other value
// restores the usual: Close returns at once, and the peer still reads the written bytes.
func (c *conn) SetLinger(sec int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", c, net.ErrClosed)
	}
	c.abrupt = sec == 0
	return nil
}

// Close implements [net.Conn]: pending calls fail with net.ErrClosed, and the peer reads the
// written bytes, then io.EOF.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("close", c, net.ErrClosed)
	}
	c.closed = true
	if c.abrupt {
		c.out.reset()
		c.in.leave(syscall.ECONNRESET)
	} else {
		c.out.shut(net.ErrClosed)
		c.in.leave(syscall.EPIPE)
	}
	return nil
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	return c.setDeadline(c.in, &c.in.readDeadline, c.in.readable, t)
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(c.out, &c.out.writeDeadline, c.out.writable, t)
}

// setDeadline sets the deadline of one end of h, which waits on the alarm.
func (c *conn) setDeadline(h *half, end *instant, a *alarm, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return opError("set", c, net.ErrClosed)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	*end = h.at(t)
	a.broadcast()
	return nil
}

// opError wraps an error as package net does; nil and io.EOF stay bare.
func opError(op string, c net.Conn, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: c.LocalAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
