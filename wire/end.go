package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// closeFlush is how long the last bytes of a connection may take to leave.
	closeFlush = time.Second
	// reasonWait is how long the reader looks for a peer's reason once writes to the peer fail.
	reasonWait = 100 * time.Millisecond
	// closeWait is how long Close waits for handlers; they have been told to end.
	closeWait = 5 * time.Second
	// drainGrace is how long we wait for the peer to hang up once nothing is under
	// way: work of its own may have crossed our GOAWAY.
	drainGrace = 500 * time.Millisecond
)

// errDrained ends a connection that was drained.
var errDrained = fmt.Errorf("%w: drained", ErrClosed)

// Close sends the queued output, tells the peer, and closes. Current work fails. It waits for
// handlers, whose contexts have ended, 5 s at most; a handler itself must use Abort.
func (c *Conn) Close() error {
	c.Abort(Unavailable)
	if returnsWithin(closeWait, func() {
		<-c.done // until then a writer may be started
		c.tasks.Wait()
	}) {
		return nil
	}
	running := c.handlers.list()
	c.config.Logger.Warn("wire: handlers outlive their connection", "kinds", running, "peer", c.RemoteAddr().String())
	return fmt.Errorf("wire: handlers still run %v after the end of their connection: %s", closeWait, running)
}

// Abort is Close that does not wait. The peer is told code, which is not 0.
func (c *Conn) Abort(code Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.m.Close(code)
		c.flushed = true
		c.failLocked(ErrClosed)
	}
}

// failLocked ends the connection and wakes everything that waits. The goroutine with the writer's
// role sends the last bytes and closes the socket. If there is none, a writer is started for that.
func (c *Conn) failLocked(err error) {
	if c.closed {
		return
	}
	c.unserved = !c.served()
	if c.m.Failure == nil && c.m.Draining() && !c.unserved && c.m.Queued() == 0 {
		err = errDrained // the peer has hung up, as it should
	}
	c.closed, c.err = true, err
	if err == errDrained {
		c.m.Drained()
	} else {
		c.m.Close(Unavailable)
	}
	if !c.flushed { // the results of those calls are not needed
		c.flushed = !c.m.DropQueued()
	}
	c.beat.timer.Stop()
	c.cancel(err)
	for _, g := range []*cond{&c.sends.room, &c.sends.acked, &c.windows.credit, &c.out.wrotePart, &c.idle, &c.drained, &c.ponged} {
		g.broadcast()
	}
	c.slots.fail(err)
	c.posts.close()
	_ = c.nc.SetWriteDeadline(time.Now().Add(closeFlush))
	if !c.out.writing {
		c.out.start()
	}
}

// heartbeat lets the machine judge the time. Conn.mu guards it.
type heartbeat struct {
	c     *Conn
	timer *time.Timer
	due   time.Duration
}

// set sets the time of the next tick. Conn.mu is held.
func (h *heartbeat) set(at, now time.Duration) {
	h.due = at
	h.timer.Reset(max(at-now, time.Millisecond))
}

// tick ends a connection whose peer is dead, and resets streams that stand in the way of others.
func (h *heartbeat) tick() {
	c := h.c
	c.mu.Lock()
	victims := h.tickLocked()
	c.mu.Unlock()
	for _, s := range victims {
		_ = s.abort(ResourceExhausted, &Error{Code: ResourceExhausted, Msg: "nobody has read what waits here"})
	}
}

func (h *heartbeat) tickLocked() (victims []*Stream) {
	c := h.c
	if c.closed {
		return nil
	}
	now := c.now()
	next, err := c.m.Tick(now)
	if err != nil {
		c.failLocked(err)
		return nil
	}
	c.out.trim()
	h.set(min(next, c.slots.expire(now)), now)
	c.slots.tell()
	c.out.mustWake() // a heartbeat passes the cork
	return c.windows.stalled(now)
}

// Drain takes no new work, neither ours nor the peer's, lets current work come to its end, and
// closes. The error means that work was cut off, after Config.DrainTimeout or when ctx ended.
func (c *Conn) Drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.DrainTimeout)
	defer cancel()
	c.mu.Lock()
	ended, waiting := c.closed, c.m.Failure == nil && c.m.Queued() > 0
	c.m.Drain(c.config.goaway(), "draining")
	c.slots.free.broadcast()
	c.out.mustWake()
	c.settled()
	for !c.closed && !c.quiet() {
		if err := c.idle.wait(ctx, &c.mu); err != nil {
			c.mu.Unlock()
			running := c.handlers.list()
			_ = c.Close()
			return fmt.Errorf("wire: drain: %w, handlers ran: %s", err, running)
		}
	}
	cut := !ended && c.closed && c.err != errDrained && (c.unserved || waiting)
	c.mu.Unlock()
	if cut {
		_ = c.Close()
		return fmt.Errorf("wire: drain: %w", c.Err())
	}
	select {
	case <-c.done:
	case <-ctx.Done():
	case <-time.After(drainGrace):
	}
	_ = c.Close()
	return nil
}

// quiet reports whether no work is under way: no slot, no output, no post that waits for its
// handler or its acknowledgement. c.mu is held.
func (c *Conn) quiet() bool {
	return c.served() && !c.m.Pending() && !c.out.writing
}

// served is quiet but for the output. c.mu is held.
func (c *Conn) served() bool {
	return !c.delivering && c.m.Live() == 0 && !c.posts.running && c.m.Acked >= c.m.Sent && len(c.sends.keyed) == 0
}

// settled is called whenever a request or stream has ended. It wakes goroutines that wait for an
// idle connection, and ends a connection that the peer drains. c.mu is held.
func (c *Conn) settled() {
	if !c.m.Draining() || c.closed || !c.quiet() {
		return
	}
	c.idle.broadcast()
	if c.m.GoawayReceived {
		c.failLocked(errDrained)
	}
}

// socketError returns the error of a failed read or write. An error that is not the socket's passes
// unchanged. c.mu is held.
func (c *Conn) socketError(err error) error {
	var failed net.Error
	var errno syscall.Errno
	switch {
	case errors.Is(err, net.ErrClosed):
		return ErrClosed
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ErrPeerDead // the second is TCP_USER_TIMEOUT
	case !errors.As(err, &errno) && !errors.As(err, &failed):
		return err
	case c.drainedOut(): // a peer that hangs up before it has read all resets
		return errDrained
	}
	return fmt.Errorf("wire: %w", err)
}

// drainedOut reports whether a socket that ends now ends a drain, and cuts no work off. c.mu is
// held.
func (c *Conn) drainedOut() bool { return c.m.Draining() && c.m.Live() == 0 }

// writeFailed ends the connection because of a failed write. A peer that has closed its end has
// often sent the reason before, so the reader gets a moment to find it. c.mu is held except during
// that wait. The caller has the writer's role and is not the reader.
func (c *Conn) writeFailed(err error) {
	if !c.closed && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
		c.mu.Unlock()
		_ = sleep(c.ctx, reasonWait)
		c.mu.Lock()
	}
	c.failLocked(c.socketError(err))
}

// lostError is the error of a call whose connection has ended before the answer.
type lostError struct {
	cause error
	sent  bool
}

func (e *lostError) Error() string {
	if e.sent {
		return fmt.Sprintf("%v: %v", ErrMaybeSent, e.cause)
	}
	return fmt.Sprintf("%v: %v", ErrNotSent, e.cause)
}

func (e *lostError) Unwrap() error { return e.cause }

func (e *lostError) Is(target error) bool {
	return e.sent && target == ErrMaybeSent || !e.sent && target == ErrNotSent
}
