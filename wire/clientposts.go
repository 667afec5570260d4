package wire

import (
	"context"
	"errors"
)

// Post is Conn.Post over one of the connections, once there is one. Posts keep
// their order on one connection only: with several, WithKey decides which.
func (c *Client) Post(ctx context.Context, kind string, body []byte) error {
	a := attempt{c: c}
	for {
		if err := a.next(ctx); err != nil {
			return err
		}
		err := a.conn.Post(ctx, kind, body)
		if !a.done(ctx, err) {
			return err
		}
	}
}

// PostBatch is Post for each of bodies, over one connection while it lives.
func (c *Client) PostBatch(ctx context.Context, kind string, bodies [][]byte) error {
	a := attempt{c: c}
	for {
		if err := a.next(ctx); err != nil {
			return err
		}
		n, err := a.conn.postAll(ctx, kind, bodies, false)
		if !a.done(ctx, err) {
			return err
		}
		bodies = bodies[n:]
	}
}

// TryPost is Post that does not wait: ErrNoCredit or ErrNoConn say that the body
// was dropped, which is counted.
func (c *Client) TryPost(kind string, body []byte) error {
	for range 2 {
		l, conn := c.choose(context.Background())
		if conn == nil || c.ending.Load() != nil {
			break
		}
		err := conn.TryPost(kind, body)
		a := attempt{c: c, link: l, conn: conn}
		if err == nil || !a.failed(context.Background(), err) {
			return err
		}
	}
	l := c.links[0]
	l.keyedMu.Lock()
	defer l.keyedMu.Unlock()
	l.dropped++
	return &lostError{cause: ErrNoConn}
}

// PostKeyed is Conn.PostKeyed over the connection that the key decides. While that
// is down, the latest body of each key waits for the next one.
func (c *Client) PostKeyed(kind, key string, body []byte) error {
	if why := c.ending.Load(); why != nil {
		return &lostError{cause: *why}
	}
	l := c.linkOf(key)
	l.keyedMu.Lock()
	defer l.keyedMu.Unlock()
	if conn := l.conn.Load(); conn != nil {
		err := conn.PostKeyed(kind, key, body)
		if !errors.Is(err, ErrNotSent) {
			return err
		}
	}
	return l.keep(postKey{kind, key}, body, true)
}

// PostAck takes a post that the peer is to acknowledge, and returns its number. It
// is copied, and sent as often as it takes: over whichever connection there is,
// until the peer has said that its handler has completed. Posts are handled in the
// order of their numbers. PostAck waits while as many wait as MaxUnacked and
// MaxUnackedBytes allow. A body has at most 16,384 bytes, which every peer takes.
func (c *Client) PostAck(ctx context.Context, kind string, body []byte) (number uint64, err error) {
	if why := c.ending.Load(); why != nil {
		return 0, &lostError{cause: *why}
	}
	return c.lane.post(ctx, kind, body)
}

// Acked is the number of the last post that the peer has acknowledged, and with it
// all before.
func (c *Client) Acked() uint64 { return c.lane.known() }

// WaitAcked waits until the peer has acknowledged all posts up to number.
func (c *Client) WaitAcked(ctx context.Context, number uint64) error {
	return c.lane.wait(ctx, number)
}
