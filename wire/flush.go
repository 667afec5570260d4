package wire

import (
	"context"
	"time"
)

// Flush waits until all output that was sent before has been given to the socket. It promises
// nothing about the peer: for that, make a call. The error is that of ctx, or the reason why the
// connection has ended.
func (c *Conn) Flush(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.m.Takes
	if c.m.Pending() {
		c.out.mustWake()
	} else {
		target--
	}
	for int32(target-c.out.lastTake) > 0 {
		if c.closed {
			return c.err
		}
		if err := c.out.wrotePart.wait(ctx, &c.mu); err != nil {
			return err
		}
	}
	return nil
}

// Cork holds back output until uncork is called, so that related frames leave in one write. Output
// that a goroutine must wait for leaves all the same, and takes the rest along: a call, a long
// Write, a post without room, Flush.
func (c *Conn) Cork() (uncork func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.corked++
	once := true
	return func() {
		c.mu.Lock()
		if once {
			once = false
			c.out.corked--
		}
		c.out.flushAndUnlock(false)
	}
}

// OldestUnsent returns an upper bound of the time for which the oldest byte of the present write
// has waited for the socket to take it; 0 if no byte waits.
func (c *Conn) OldestUnsent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.age.at(c.now())
}

// Lag returns an upper bound of the time for which the path has shown no sign that it works though
// it should have: OldestUnsent or, if that is longer, the time for which a PING has waited without
// a byte from the peer. A connection sends PING when it has heard nothing for a third of its Idle.
func (c *Conn) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	return max(c.out.age.at(now), c.m.Unheard(now))
}

// A goroutine about to flush a small write yields once, so that others can append to the same
// buffer and share the system call. A goroutine that is alone gains nothing from it, and each
// yield makes the scheduler wake another thread to look for work.
const (
	// aloneTurns is the number of consecutive yields without a second writer after which
	// yielding stops. With many writers, a run that long does not occur.
	aloneTurns = 16
	// aloneProbe is the interval, in turns, at which yielding is then tried again.
	aloneProbe = 64
)

// batchHint predicts whether other goroutines will append to a buffer that is about to be
// written. It is guarded by Conn.mu.
type batchHint struct {
	alone uint32 // turns since another goroutine appended
}

// likely begins a turn and reports whether a yield is worthwhile.
func (h *batchHint) likely() bool {
	h.alone++
	return h.alone <= aloneTurns || h.alone%aloneProbe == 0
}

// came records that another goroutine has appended.
func (h *batchHint) came() { h.alone = 0 }
