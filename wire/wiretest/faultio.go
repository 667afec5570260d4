package wiretest

import (
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// Read implements [net.Conn].
func (c *FaultConn) Read(p []byte) (int, error) {
	s := c.in
	if err := c.begin(s); err != nil {
		return 0, err
	}
	defer c.finish(s)
	if err := s.failure(); err != nil {
		return 0, opError(s.op, c, err)
	}
	if err := c.pass(s, s.Delay); err != nil {
		return 0, err
	}
	if len(s.held) > 0 || s.heldErr != nil {
		return c.release(p)
	}
	n, err := c.inner.Read(p[:s.piece(len(p))])
	s.corrupted(p[:n], true)
	if over := c.pass(s, 0); over != nil { // it has stalled meanwhile
		s.held = slices.Clone(p[:n])
		if !errors.Is(err, os.ErrDeadlineExceeded) { // which the next call may not have
			s.heldErr = err
		}
		return 0, over
	}
	c.account(s, n)
	return n, c.blame(s.op, err)
}

// release returns bytes that were read from the connection and held back.
func (c *FaultConn) release(p []byte) (int, error) {
	s := c.in
	n := copy(p, s.held)
	s.held = s.held[n:]
	c.account(s, n)
	if len(s.held) > 0 {
		return n, nil
	}
	err := s.heldErr
	s.heldErr = nil
	return n, c.blame(s.op, err)
}

// Write implements [net.Conn]. With an error it returns how many bytes the
// connection within has taken.
func (c *FaultConn) Write(p []byte) (n int, err error) {
	s := c.out
	if err := c.begin(s); err != nil {
		return 0, err
	}
	defer c.finish(s)
	if err := s.failure(); err != nil {
		return 0, opError(s.op, c, err)
	}
	for {
		if err := c.pass(s, s.Delay); err != nil {
			return n, err
		}
		rest := p[n:]
		m, err := c.inner.Write(s.corrupted(rest[:s.piece(len(rest))], false))
		c.account(s, m)
		n += m
		if err != nil || n == len(p) {
			return n, c.blame(s.op, err)
		}
	}
}

// begin waits for the turn of a call.
func (c *FaultConn) begin(s *side) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s.busy {
		if err := c.overLocked(); err != nil {
			return opError(s.op, c, err)
		}
		if c.now() >= s.deadline {
			return opError(s.op, c, os.ErrDeadlineExceeded)
		}
		s.alarm.wait(s.deadline)
	}
	s.busy = true
	return nil
}

// finish ends the turn of a call.
func (c *FaultConn) finish(s *side) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.busy = false
	s.alarm.broadcast()
}

// pass waits out a delay and a stall.
func (c *FaultConn) pass(s *side, delay time.Duration) error {
	c.account(s, 0) // a cut or a stall may be due at offset 0
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.now().after(delay)
	for {
		now := c.now()
		if err := c.overLocked(); err != nil {
			return opError(s.op, c, err)
		}
		if !s.stalled && now >= from {
			return nil
		}
		if now >= s.deadline {
			return opError(s.op, c, os.ErrDeadlineExceeded)
		}
		until := s.deadline
		if !s.stalled {
			until = min(until, from)
		}
		s.alarm.wait(until)
	}
}

// account counts n bytes that have passed, and stalls or cuts where that is due.
func (c *FaultConn) account(s *side, n int) {
	c.mu.Lock()
	s.passed += int64(n)
	cut := s.Cut.reached(s.passed)
	if s.Stall.reached(s.passed) {
		s.stalled = true
		s.Stall = 0 // once
	}
	c.mu.Unlock()
	if cut {
		c.Cut()
	}
}

// overLocked returns why nothing passes any more, or nil.
func (c *FaultConn) overLocked() error {
	switch {
	case c.closed:
		return net.ErrClosed
	case c.cut:
		return syscall.ECONNRESET
	}
	return nil
}

// blame returns err, or a reset where the connection within only knows that it
// was closed.
func (c *FaultConn) blame(op string, err error) error {
	if !errors.Is(err, net.ErrClosed) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if over := c.overLocked(); over != nil {
		return opError(op, c, over)
	}
	return err
}
