package handshake

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrTooLong ends a handshake in which the peer has sent too many bytes.
var ErrTooLong = errors.New("handshake: too many bytes")

// Limiter bounds the handshakes that compute at once. Each handshake runs on the goroutine of its
// own connection, but its arithmetic, a signature above all, keeps a processor busy. Many
// handshakes at once would starve the established connections. A handshake holds a turn while it
// computes, and not while it waits for its peer, so silent peers block no other. A handshake that
// has computed before goes first: it costs little more, and its cost would be lost if its peer gave
// up. Otherwise the order is that of arrival.
//
// The methods are safe for concurrent use.
type Limiter struct {
	most     int
	peer     time.Duration
	underWay atomic.Int64

	mu    sync.Mutex
	free  int                // guarded by mu
	lines [2][]chan struct{} // guarded by mu; waiters for a first turn, and for a later one
}

// NewLimiter returns a limiter of n turns. In each handshake the peer may send at most bytes, and
// may keep the server waiting for peer in all; 0 is no bound.
func NewLimiter(n, bytes int, peer time.Duration) *Limiter {
	return &Limiter{free: n, most: bytes, peer: peer}
}

// UnderWay returns the number of handshakes that have begun and not ended.
func (t *Limiter) UnderWay() int { return int(t.underWay.Load()) }

// Do calls shake, which does the server's part of a handshake over the connection that it is given.
// That connection is conn, and waits for a turn after each read; once Do has returned, it is conn
// alone. ctx bounds only the waits for turns: the end of the handshake is seen by the reads of
// conn. n, if it is not nil, is told for which side the handshake waits.
func (t *Limiter) Do(ctx context.Context, conn net.Conn, n *Pending, shake func(net.Conn) error) error {
	t.underWay.Add(1)
	defer t.underWay.Add(-1)
	c := &shaking{Conn: conn, ctx: ctx, turns: t, newcomer: n, left: t.peer}
	defer c.over() // also after a panic
	return shake(c)
}

// take waits for a turn, the first of its handshake or a later one.
func (t *Limiter) take(ctx context.Context, later int) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{}, 1) // so that give does not block
	t.lines[later] = append(t.lines[later], mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.lines[later], mine); i >= 0 {
			t.lines[later] = slices.Delete(t.lines[later], i, i+1)
		} else { // it has been given a turn meanwhile
			t.next()
		}
		return ctx.Err()
	}
}

// give ends a turn.
func (t *Limiter) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next passes a turn to a waiter. t.mu is held.
func (t *Limiter) next() {
	for later := len(t.lines) - 1; later >= 0; later-- {
		if line := t.lines[later]; len(line) > 0 {
			line[0] <- struct{}{}
			t.lines[later] = line[1:]
			return
		}
	}
	t.free++
}

// shaking is a connection in its handshake.
type shaking struct {
	net.Conn
	ctx      context.Context
	turns    *Limiter // nil: the handshake has ended
	newcomer *Pending
	taken    bool // holds a turn
	later    int  // 1 after the first turn
	read     int
	left     time.Duration // remaining time of the peer, if it is bounded
}

// Read gives the turn back while it waits.
func (c *shaking) Read(p []byte) (int, error) {
	if c.turns == nil {
		return c.Conn.Read(p)
	}
	if c.read > c.turns.most {
		return 0, ErrTooLong
	}
	c.leave()
	n, err := c.await(p)
	c.read += n
	if err := c.turns.take(c.ctx, c.later); err != nil {
		return 0, err
	}
	c.taken, c.later = true, 1
	return n, err
}

// NetConn returns the underlying connection.
func (c *shaking) NetConn() net.Conn { return c.Conn }

// await reads within the peer's remaining time.
func (c *shaking) await(p []byte) (int, error) {
	c.newcomer.Awaited()
	defer c.newcomer.Served()
	if c.turns.peer <= 0 {
		return c.Conn.Read(p)
	}
	begun := time.Now()
	if err := c.SetReadDeadline(begun.Add(c.left)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.left -= time.Since(begun)
	return n, err
}

// Write sends bytes to the peer.
func (c *shaking) Write(p []byte) (int, error) {
	c.newcomer.Answered()
	return c.Conn.Write(p)
}

func (c *shaking) leave() {
	if c.taken {
		c.taken = false
		c.turns.give()
	}
}

func (c *shaking) over() {
	c.leave()
	if c.turns.peer > 0 {
		_ = c.SetReadDeadline(time.Time{}) // fails if it is closed
	}
	c.turns, c.newcomer = nil, nil
}
