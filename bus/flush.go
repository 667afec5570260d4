package bus

import (
	"errors"
	"os"
	"time"
)

const (
	// inlineFlush is how much whoever has routed a batch writes for one
	// destination; what is left then is for a writer of its own, so that nobody
	// waits for long behind one busy destination.
	inlineFlush = 256 << 10
	// writePiece is what the writer writes at once, so that each piece shows
	// progress.
	writePiece = 64 << 10
)

// flush writes what is pending without waiting, unless somebody is writing: that
// one writes what has been added meanwhile.
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

// tryWrite writes of s what the kernel takes at once.
func (c *client) tryWrite(s *slab) (n int, err error) {
	if c.wire != nil {
		return c.wire.write(s, false)
	}
	return c.sock.tryWrite(s.rest())
}

// write writes a piece of s, and waits for it.
func (c *client) write(s *slab) (n int, err error) {
	if c.wire != nil {
		return c.wire.write(s, true)
	}
	b := s.rest()
	return c.conn.Write(b[:min(len(b), writePiece)])
}

// startWriter leaves the writing to a goroutine, which may wait. c.mu is held,
// and the caller has the writer's role.
func (c *client) startWriter() {
	c.out.stuck = true
	c.out.note(time.Now(), c.srv.cfg().WriteDeadline)
	c.hasten()
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
	if c.wire != nil && !c.aborted {
		c.wire.bye()
	}
	half, ok := c.conn.(interface{ CloseWrite() error })
	if c.aborted || !ok || half.CloseWrite() != nil {
		c.conn.SetReadDeadline(past)
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(drainTime))
}
