package handshake

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
)

// ErrTooLong ends a handshake in which the peer has sent more than it may.
var ErrTooLong = errors.New("handshake: too many bytes")

// Turns bound how many handshakes compute at once. Each runs on the goroutine of its own
// connection; but their arithmetic, a signature above all, keeps processors busy, and a
// storm of them would take all from those who are served already. A turn lasts while a
// handshake computes, not while it waits for its peer, so that peers who say nothing keep
// nobody out. Who wants a turn gets it in the order of asking.
//
// The methods may be called by any number of goroutines.
type Turns struct {
	free     chan struct{} // holds one for each turn that is taken
	most     int
	underWay atomic.Int64
}

// NewTurns are n turns, for handshakes in each of which the peer sends at most so many
// bytes.
func NewTurns(n, bytes int) *Turns { return &Turns{free: make(chan struct{}, n), most: bytes} }

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
	c := &shaking{Conn: conn, ctx: ctx, turns: t, newcomer: n}
	defer c.over() // whatever happens
	return shake(c)
}

// shaking is a connection in its handshake.
type shaking struct {
	net.Conn
	ctx      context.Context
	turns    *Turns // nil: the handshake is over
	newcomer *Newcomer
	taken    bool // a turn
	read     int
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
	c.newcomer.Awaited()
	n, err := c.Conn.Read(p)
	c.newcomer.Served()
	c.read += n
	if err := c.enter(); err != nil {
		return 0, err
	}
	return n, err
}

// NetConn is the connection beneath.
func (c *shaking) NetConn() net.Conn { return c.Conn }

// enter waits for a turn.
func (c *shaking) enter() error {
	select {
	case c.turns.free <- struct{}{}:
	default:
		select {
		case c.turns.free <- struct{}{}:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
	c.taken = true
	return nil
}

func (c *shaking) leave() {
	if c.taken {
		c.taken = false
		<-c.turns.free
	}
}

func (c *shaking) over() {
	c.leave()
	c.turns, c.newcomer = nil, nil
}
