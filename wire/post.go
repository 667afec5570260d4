package wire

import (
	"context"
	"errors"
	"runtime"
)

// lockTries is how often a post tries to get the lock before it queues up.
const lockTries = 32

// maxKeyed bounds how many keys may wait in the conflating lane.
const maxKeyed = 1 << 16

// Post sends a body without an answer. It is copied before Post returns; nil says
// that it is on its way, not that it has arrived: for that there is PostAck. Posts
// of a connection are handled in their order. Post waits until the peer has room,
// or ctx ends. Errors: ErrTooLarge, for more than a frame of the peer, or half of its
// PostInitial; ErrKind; that of ctx; ErrNotSent, with why the connection has ended.
//
// hot: BenchmarkPost, TestPostDoesNotAllocate.
func (c *Conn) Post(ctx context.Context, kind string, body []byte) error {
	c.lockSoon()
	_, err := c.postLocked(ctx, kind, body, false)
	c.wakeWriter()
	c.mu.Unlock()
	return err
}

// lockSoon takes c.mu, which is held only briefly, without queueing for it. If a hundred goroutines
// that post all the time queued, the mutex would be handed from one sleeping goroutine to the next.
func (c *Conn) lockSoon() {
	for range lockTries {
		if c.mu.TryLock() {
			return
		}
		runtime.Gosched()
	}
	c.mu.Lock()
}

// PostBatch is Post for each of bodies, under one lock. With an error those in front
// were sent, and it is not told how many.
func (c *Conn) PostBatch(ctx context.Context, kind string, bodies [][]byte) error {
	_, err := c.postAll(ctx, kind, bodies, false)
	return err
}

// postAll posts bodies, and says how many of them before the error.
func (c *Conn) postAll(ctx context.Context, kind string, bodies [][]byte, ack bool) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wakeWriter()
	for i, b := range bodies {
		if _, err := c.postLocked(ctx, kind, b, ack); err != nil {
			return i, err
		}
	}
	return len(bodies), nil
}

// PostAck is Post with a number, which WaitAcked and Acked tell about once the
// peer's handler has completed. See SPEC section 8.
func (c *Conn) PostAck(ctx context.Context, kind string, body []byte) (number uint64, err error) {
	c.mu.Lock()
	number, err = c.postLocked(ctx, kind, body, true)
	c.wakeWriter()
	c.mu.Unlock()
	return number, err
}

// TryPost is Post that does not wait: ErrNoCredit says that the body was dropped,
// which is counted.
func (c *Conn) TryPost(kind string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.tryPost(kind, body)
	if errors.Is(err, ErrNoCredit) {
		c.stats.dropPost(body)
	}
	c.wakeWriter()
	return err
}

func (c *Conn) tryPost(kind string, body []byte) error {
	number, err := c.kindNumber(kind)
	if err == nil && c.full() {
		err = ErrNoCredit
	}
	if err == nil {
		_, err = c.m.Post(number, body, false)
	}
	return c.notSent(err)
}

// postLocked posts, waiting for room if there is none. c.mu is held but for the
// wait.
func (c *Conn) postLocked(ctx context.Context, kind string, body []byte, ack bool) (number uint64, err error) {
	for {
		kindNumber, err := c.kindNumber(kind)
		if err == nil && c.full() {
			err = ErrNoCredit
		}
		if err == nil {
			number, err = c.m.Post(kindNumber, body, ack)
		}
		if err == nil {
			return number, nil
		}
		if !errors.Is(err, ErrNoCredit) {
			return 0, c.notSent(err)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		c.mustWrite()
		began := c.now()
		err = c.await(ctx, &c.postGate)
		c.stats.stalled += c.now() - began
		if err != nil {
			return 0, err
		}
	}
}

// Acked is the number of the last post that the peer has acknowledged, and with it
// all before.
func (c *Conn) Acked() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Acked
}

// WaitAcked waits until the peer has acknowledged all posts up to number. The error
// is that of ctx, or why the connection has ended.
func (c *Conn) WaitAcked(ctx context.Context, number uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.m.Acked < number {
		if c.closed {
			return c.err
		}
		c.mustWrite()
		if err := c.await(ctx, &c.ackGate); err != nil {
			return err
		}
	}
	return nil
}

// postKey names what a later post takes the place of.
type postKey struct{ kind, key string }

// PostKeyed is Post that never waits: while the peer has no room, only the latest
// body of each key is kept, which is right for positions. ErrNoCredit says that
// 65,536 keys wait already. How many bodies a later one has replaced is counted.
func (c *Conn) PostKeyed(kind, key string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wakeWriter()
	if c.closed {
		return c.notSent(ErrClosed)
	}
	at := postKey{kind, key}
	if old, waits := c.keyed[at]; waits {
		c.keyed[at] = append(old[:0], body...)
		c.stats.conflated++
		return nil
	}
	err := c.tryPost(kind, body)
	if !errors.Is(err, ErrNoCredit) {
		return err
	}
	if len(c.keyed) >= maxKeyed {
		c.stats.dropPost(body)
		return err
	}
	if c.keyed == nil {
		c.keyed = map[postKey][]byte{}
	}
	c.keyed[at] = append([]byte(nil), body...)
	return nil
}

// takeKeyed hands over what the conflating lane holds, for another connection.
func (c *Conn) takeKeyed() map[postKey][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	keyed := c.keyed
	c.keyed = nil
	c.settled()
	return keyed
}

// sendKeyed sends what the conflating lane holds, while there is room. c.mu is
// held.
func (c *Conn) sendKeyed() {
	for at, body := range c.keyed {
		err := c.tryPost(at.kind, body)
		if errors.Is(err, ErrNoCredit) {
			break
		}
		if err != nil {
			c.stats.dropPost(body)
		}
		delete(c.keyed, at)
	}
}
