package wiretest

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// FaultConn is a connection with faults: those of its creation, and those of its commands Stall,
// Resume and Cut. Its methods may be called concurrently. It starts no goroutine.
type FaultConn struct {
	inner   net.Conn
	in, out *side
	clock

	mu     sync.Mutex // never held while inner reads or writes
	cut    bool
	closed bool
}

var _ net.Conn = (*FaultConn)(nil)

// Faulty wraps a connection. It works over a Pipe, TCP, TLS or another FaultConn, and blocks
// durably, in the sense of package synctest, if the connection within does. Close closes the
// connection within.
func Faulty(c net.Conn, faults Faults) *FaultConn {
	f := &FaultConn{inner: c, clock: newClock()}
	f.in = &side{Flow: faults.In, op: "read", deadline: never, alarm: newAlarm(f.clock, &f.mu)}
	f.out = &side{Flow: faults.Out, op: "write", deadline: never, alarm: newAlarm(f.clock, &f.mu)}
	if faults.Seed != 0 {
		f.in.random = rand.New(rand.NewPCG(faults.Seed, 1))
		f.out.random = rand.New(rand.NewPCG(faults.Seed, 2))
	}
	return f
}

// Stall stops the directions: Reads return nothing, also no bytes that have arrived, and Writes
// pass nothing on, until Resume. Deadlines and Close still end them. Bytes that a Read or Write has
// passed on before Stall are not called back.
func (c *FaultConn) Stall(d Direction) { c.setStalled(d, true) }

// Resume ends a stall.
func (c *FaultConn) Resume(d Direction) { c.setStalled(d, false) }

func (c *FaultConn) setStalled(d Direction, stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sides(d) {
		s.stalled = stalled
		s.alarm.broadcast()
	}
}

// Cut resets the connection. Reads and Writes fail with ECONNRESET, including the waiting ones. The
// peer's fail too if the inner connection has SetLinger, as TCP and the connections of this package
// have. Without it, the connection is closed.
func (c *FaultConn) Cut() {
	c.mu.Lock()
	over := c.cut || c.closed
	c.cut = true
	c.in.alarm.stop()
	c.out.alarm.stop()
	c.mu.Unlock()
	if over {
		return
	}
	if l, ok := c.inner.(lingerer); ok {
		l.SetLinger(0)
	}
	c.inner.Close() // it is meant to break, so no error is news
}

// Passed returns how many bytes have passed in a direction, or in both together.
func (c *FaultConn) Passed(d Direction) (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sides(d) {
		n += s.passed
	}
	return n
}

func (c *FaultConn) sides(d Direction) (s []*side) {
	if d&In != 0 {
		s = append(s, c.in)
	}
	if d&Out != 0 {
		s = append(s, c.out)
	}
	return s
}

// Close implements [net.Conn].
func (c *FaultConn) Close() error {
	c.mu.Lock()
	closed, cut := c.closed, c.cut
	c.closed = true
	c.in.alarm.stop()
	c.out.alarm.stop()
	c.mu.Unlock()
	switch {
	case closed:
		return opError("close", c, net.ErrClosed)
	case cut:
		return nil
	}
	return c.inner.Close()
}

// CloseWrite ends the written half, when a Write would pass: it waits for Writes before it and
// while Out stalls. It fails with errors.ErrUnsupported if the connection within has no such
// method.
func (c *FaultConn) CloseWrite() error {
	inner, ok := c.inner.(interface{ CloseWrite() error })
	if !ok {
		return opError("close", c, errors.ErrUnsupported)
	}
	if err := c.begin(c.out); err != nil {
		return err
	}
	defer c.finish(c.out)
	if err := c.pass(c.out, 0); err != nil {
		return err
	}
	return c.blame("close", inner.CloseWrite())
}

// lingerer can reset a connection, or leave its end to the system.
type lingerer interface{ SetLinger(sec int) error }

// SetLinger passes on, or fails with errors.ErrUnsupported.
func (c *FaultConn) SetLinger(sec int) error {
	if inner, ok := c.inner.(lingerer); ok {
		return inner.SetLinger(sec)
	}
	return opError("set", c, errors.ErrUnsupported)
}

// LocalAddr implements [net.Conn].
func (c *FaultConn) LocalAddr() net.Addr { return c.inner.LocalAddr() }

// RemoteAddr implements [net.Conn].
func (c *FaultConn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }

// SetDeadline implements [net.Conn].
func (c *FaultConn) SetDeadline(t time.Time) error {
	c.setDeadline(Both, t)
	return c.blame("set", c.inner.SetDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *FaultConn) SetReadDeadline(t time.Time) error {
	c.setDeadline(In, t)
	return c.blame("set", c.inner.SetReadDeadline(t))
}

// SetWriteDeadline implements [net.Conn].
func (c *FaultConn) SetWriteDeadline(t time.Time) error {
	c.setDeadline(Out, t)
	return c.blame("set", c.inner.SetWriteDeadline(t))
}

func (c *FaultConn) setDeadline(d Direction, t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sides(d) {
		s.deadline = c.at(t)
		s.alarm.broadcast()
	}
}
