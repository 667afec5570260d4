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

// ErrTooLong ends a handshake in which the peer has sent more than it may.
var ErrTooLong = errors.New("handshake: too many bytes")

// Turns bound how many handshakes compute at once. Each runs on the goroutine of its own
// connection; but their arithmetic, a signature above all, keeps processors busy, and a
// storm of them would take all from those who are served already. A turn lasts while a
// handshake computes, not while it waits for its peer, so that peers who say nothing keep
// nobody out. Whose handshake has come further goes first: it costs little more, and what it
// has cost already would be for nothing if its peer gave up. Else it is the order of asking.
//
// The methods may be called by any number of goroutines.
type Turns struct {
	most     int
	peer     time.Duration
	underWay atomic.Int64

	mu    sync.Mutex
	free  int                // guarded by mu
	lines [2][]chan struct{} // guarded by mu; who waits: for his first turn, and for a later one
}

// NewTurns are n turns, for handshakes in each of which the peer sends at most so many
// bytes, and is waited for so long in all; 0 is as long as it takes.
func NewTurns(n, bytes int, peer time.Duration) *Turns {
	return &Turns{free: n, most: bytes, peer: peer}
}

// UnderWay is how many handshakes have begun and not ended, whatever they wait for.
func (t *Turns) UnderWay() int { return int(t.underWay.Load()) }

// Do calls shake, which is to do the server's part of a handshake over the connection that
// it is given. That one is conn, and waits for a turn whenever something was read of it;
// once Do has returned it is conn and nothing more. ctx bounds the waiting for turns alone:
// whatever ends the handshake ends what is read of conn too. n, if it is not nil, is told
// who is waited for.
func (t *Turns) Do(ctx context.Context, conn net.Conn, n *Newcomer, shake func(net.Conn) error) error {
	t.underWay.Add(1)
	defer t.underWay.Add(-1)
	c := &shaking{Conn: conn, ctx: ctx, turns: t, newcomer: n, left: t.peer}
	defer c.over() // whatever happens
	return shake(c)
}

// take waits for a turn, the first one of its handshake or a later one.
func (t *Turns) take(ctx context.Context, later int) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{}, 1) // so that give does not wait
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
		} else { // it was given meanwhile
			t.next()
		}
		return ctx.Err()
	}
}

// give ends a turn.
func (t *Turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next passes a turn on. t.mu is held.
func (t *Turns) next() {
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
	turns    *Turns // nil: the handshake is over
	newcomer *Newcomer
	taken    bool // a turn
	later    int  // 1 once there was one
	read     int
	left     time.Duration // of the peer's time, if that is bounded
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

// NetConn is the connection beneath.
func (c *shaking) NetConn() net.Conn { return c.Conn }

// await reads, for as long as the peer has.
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

// Write answers the peer.
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
		_ = c.SetReadDeadline(time.Time{}) // an error if it is closed
	}
	c.turns, c.newcomer = nil, nil
}
