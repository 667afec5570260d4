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

// postSender sends posts. Conn.mu guards it, and is held in all methods unless their
// comment says otherwise.
type postSender struct {
	c     *Conn
	keyed keyedPosts // the conflating lane
	room  cond       // post credit, or room in the output
	acked cond       // more posts were acknowledged
}

// noWait is the context of a post that does not wait.
var noWait context.Context

// post sends a post, and waits for room if there is none. With noWait it returns ErrNoCredit
// instead. Conn.mu is held but for the wait.
func (p *postSender) post(ctx context.Context, kind string, body []byte, ack bool) (number uint64, err error) {
	c := p.c
	for {
		kindNumber, err := c.kindNumber(kind)
		if err == nil && c.out.full() {
			err = ErrNoCredit
		}
		if err == nil {
			number, err = c.m.Post(kindNumber, body, ack)
		}
		switch {
		case err == nil:
			return number, nil
		case ctx == noWait || !errors.Is(err, ErrNoCredit):
			return 0, c.notSent(err)
		case ctx.Err() != nil:
			return 0, ctx.Err()
		}
		c.out.mustWake()
		began := c.now()
		err = p.room.wait(ctx, &c.mu)
		c.stats.stalled += c.now() - began
		if err != nil {
			return 0, err
		}
	}
}

// refill wakes the goroutines that wait for room, and sends the posts of the conflating lane for
// which there is room. Those of a connection that has ended stay, for takeKeyed.
func (p *postSender) refill() {
	p.room.broadcast()
	if p.c.m.Failure != nil {
		return
	}
	for at, body := range p.keyed {
		_, err := p.post(noWait, at.kind, body, false)
		if errors.Is(err, ErrNoCredit) {
			break
		}
		if err != nil {
			p.c.stats.dropPost(body)
		}
		delete(p.keyed, at)
	}
}

// Post sends a body without an answer. The body is copied before Post returns. A nil error means
// that it is on its way, not that it has arrived: for that there is PostAck. Posts of a connection
// are handled in their order. Post waits until the peer has room, or ctx ends. Errors: ErrTooLarge,
// for more than a frame of the peer, or half of its PostInitial; ErrKind; that of ctx; ErrNotSent,
// with the reason why the connection has ended.
//
// hot: BenchmarkPost, TestPostDoesNotAllocate.
func (c *Conn) Post(ctx context.Context, kind string, body []byte) error {
	c.lockSoon()
	_, err := c.sends.post(ctx, kind, body, false)
	c.out.wake()
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

// PostBatch is Post for each of bodies, under one lock. With an error, an unknown number of bodies
// at the front were sent.
func (c *Conn) PostBatch(ctx context.Context, kind string, bodies [][]byte) error {
	_, err := c.postAll(ctx, kind, bodies, false)
	return err
}

// postAll posts bodies, and returns how many it sent before the error.
func (c *Conn) postAll(ctx context.Context, kind string, bodies [][]byte, ack bool) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.out.wake()
	for i, b := range bodies {
		if _, err := c.sends.post(ctx, kind, b, ack); err != nil {
			return i, err
		}
	}
	return len(bodies), nil
}

// PostAck is Post with a number, which WaitAcked and Acked report once the peer's handler has
// completed. See SPEC section 8.
func (c *Conn) PostAck(ctx context.Context, kind string, body []byte) (number uint64, err error) {
	c.mu.Lock()
	number, err = c.sends.post(ctx, kind, body, true)
	c.out.wake()
	c.mu.Unlock()
	return number, err
}

// TryPost is Post that does not wait. ErrNoCredit means that the body was dropped, which is
// counted.
func (c *Conn) TryPost(kind string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.sends.post(noWait, kind, body, false)
	if errors.Is(err, ErrNoCredit) {
		c.stats.dropPost(body)
	}
	c.out.wake()
	return err
}

// Acked returns the number of the last post that the peer has acknowledged, and with it all
// earlier ones.
func (c *Conn) Acked() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Acked
}

// WaitAcked waits until the peer has acknowledged all posts up to number. The error is that of ctx,
// or the reason why the connection has ended.
func (c *Conn) WaitAcked(ctx context.Context, number uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.m.Acked < number {
		if c.closed {
			return c.err
		}
		c.out.mustWake()
		if err := c.sends.acked.wait(ctx, &c.mu); err != nil {
			return err
		}
	}
	return nil
}

// PostKeyed is Post that never waits: while the peer has no room, only the latest body of each key
// is kept, which is right for positions. ErrNoCredit means that 65,536 keys wait already. Replaced
// bodies are counted.
func (c *Conn) PostKeyed(kind, key string, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.out.wake()
	if c.closed {
		return c.notSent(ErrClosed)
	}
	at := postKey{kind, key}
	if c.sends.keyed.replace(at, body) {
		c.stats.conflated++
		return nil
	}
	_, err := c.sends.post(noWait, kind, body, false)
	if !errors.Is(err, ErrNoCredit) {
		return err
	}
	if err = c.sends.keyed.add(at, body); err != nil {
		c.stats.dropPost(body)
	}
	return err
}

// takeKeyed returns the posts of the conflating lane, for another connection. Conn.mu is not held.
func (p *postSender) takeKeyed() keyedPosts {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	keyed := p.keyed
	p.keyed = nil
	p.c.settled()
	return keyed
}

// postKey identifies the posts that replace each other.
type postKey struct{ kind, key string }

// keyedPosts holds the latest body of each key.
type keyedPosts map[postKey][]byte

// replace replaces the body of a key, and reports whether there was one.
func (k keyedPosts) replace(at postKey, body []byte) bool {
	old, waits := k[at]
	if waits {
		k[at] = append(old[:0], body...)
	}
	return waits
}

// add keeps a copy of a body under a new key. The error is ErrNoCredit at the bound.
func (k *keyedPosts) add(at postKey, body []byte) error {
	if len(*k) >= maxKeyed {
		return ErrNoCredit
	}
	if *k == nil {
		*k = keyedPosts{}
	}
	(*k)[at] = append([]byte(nil), body...)
	return nil
}
