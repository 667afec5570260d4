package wire

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"paddock/internal/wire/machine"
)

type (
	idempotentKey struct{}
	affinityKey   struct{}
)

// Idempotent marks the calls that a Client makes with ctx: their handlers may run twice. The client
// sends them again where other calls fail with ErrMaybeSent. They fail with ErrMaybeSent themselves
// if ctx ends or the client closes meanwhile.
func Idempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// WithKey assigns the work that a Client does with ctx to one of its connections, which the key
// selects. So the work keeps its order. While that connection is down, the work waits for the next
// one in its place.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, affinityKey{}, key)
}

var affinitySeed = maphash.MakeSeed()

// linkOf returns the link for the work of a key.
func (c *Client) linkOf(key string) *link {
	return c.links[maphash.String(affinitySeed, key)%uint64(len(c.links))]
}

// choose finds a connection without waiting; nil if there is none.
func (c *Client) choose(ctx context.Context) (best *link, conn *Conn) {
	if len(c.links) == 1 {
		return c.links[0], c.links[0].conn.Load()
	}
	if key, ok := ctx.Value(affinityKey{}).(string); ok {
		l := c.linkOf(key)
		return l, l.conn.Load()
	}
	from := c.turn.Add(1)
	for i := range c.links {
		l := c.links[(from+uint32(i))%uint32(len(c.links))]
		if at := l.conn.Load(); at != nil && (best == nil || l.inflight.Load() < best.inflight.Load()) {
			best, conn = l, at
		}
	}
	return best, conn
}

// pick finds a connection, and waits for one if it must, as one of at most
// MaxWaiting.
func (c *Client) pick(ctx context.Context) (*link, *Conn, error) {
	if l, conn := c.choose(ctx); conn != nil && c.ending.Load() == nil {
		return l, conn, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= c.config.MaxWaiting {
		return nil, nil, &lostError{cause: fmt.Errorf("%w, and %d callers wait for one", ErrNoConn, c.waiting)}
	}
	c.waiting++
	defer func() { c.waiting-- }()
	for {
		if why := c.ending.Load(); why != nil {
			return nil, nil, &lostError{cause: *why}
		}
		if l, conn := c.choose(ctx); conn != nil {
			return l, conn, nil
		}
		if _ = c.changed.wait(ctx, &c.mu); ctx.Err() != nil {
			err := ctx.Err()
			if c.last != nil {
				err = fmt.Errorf("%w; no connection: %v", err, c.last)
			}
			return nil, nil, &lostError{cause: err}
		}
	}
}

// attempt is one piece of work on its way to a connection that takes it.
type attempt struct {
	c     *Client
	link  *link
	conn  *Conn
	again backoff
	sent  bool // an earlier connection may have carried it
}

// do does work over one connection after the other, until one of them takes it.
func (c *Client) do(ctx context.Context, work func(*Conn) error) error {
	a := attempt{c: c}
	for {
		var err error
		if a.link, a.conn, err = c.pick(ctx); err != nil {
			return a.outcome(err)
		}
		a.link.inflight.Add(1)
		err = work(a.conn)
		a.link.inflight.Add(-1)
		if err == nil || !a.failed(ctx, err) {
			return a.outcome(err)
		}
	}
}

// outcome returns the error for the caller: work that one connection has not sent may have been
// sent by another.
func (a *attempt) outcome(err error) error {
	if !a.sent || !errors.Is(err, ErrNotSent) && !errors.Is(err, ErrDraining) {
		return err
	}
	a.c.unsure.Add(1)
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		err = lost.cause
	}
	return &lostError{cause: err, sent: true}
}

// failed reports whether work that has failed is to be tried again. It waits if the peer has asked
// for that.
func (a *attempt) failed(ctx context.Context, err error) (retry bool) {
	c := a.c
	wait, e := machine.Goaway{}, (*Error)(nil)
	switch {
	case errors.Is(err, ErrMaybeSent):
		if ctx.Value(idempotentKey{}) == nil {
			c.unsure.Add(1)
			return false
		}
		a.sent = true
		a.link.drop(a.conn)
	case errors.Is(err, ErrNotSent), errors.Is(err, ErrDraining):
		a.link.drop(a.conn)
	case errors.As(err, &e) && e.NotStarted && e.Code == Unavailable:
		if a.conn.leaves() {
			a.link.drop(a.conn)
			break
		}
		wait.RetryAfter = e.RetryAfter
		if a.again.random == nil {
			a.again = newBackoff(c.config.MinBackoff, c.config.MaxBackoff, c.config.Healthy)
		}
		if !sleep(ctx, a.again.after(0, false, wait)) {
			return false
		}
	default:
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	c.retries.Add(1)
	return true
}

// Call is Conn.Call over one of the connections. In addition to its errors: when ctx ends before
// there is a connection, the error is ErrNotSent as well.
func (c *Client) Call(ctx context.Context, kind string, body []byte) ([]byte, error) {
	return c.CallAppend(ctx, nil, kind, body)
}

// CallAppend is Call that appends the answer to dst.
func (c *Client) CallAppend(ctx context.Context, dst []byte, kind string, body []byte) ([]byte, error) {
	got := dst
	err := c.do(ctx, func(conn *Conn) (err error) {
		got, err = conn.CallAppend(ctx, dst, kind, body)
		return err
	})
	return got, err
}

// CallStream is Conn.CallStream over one of the connections. A call with More has been sent when
// CallStream returns, and is not tried again after that. Nor is a call whose answer goes on as a
// stream. Meta.Key makes the call Idempotent.
func (c *Client) CallStream(ctx context.Context, kind string, body []byte, o CallOptions) (answer *Answer, err error) {
	if len(o.Meta.Key) > 0 {
		ctx = Idempotent(ctx)
	}
	err = c.do(ctx, func(conn *Conn) (err error) {
		answer, err = conn.CallStream(ctx, kind, body, o)
		return err
	})
	return answer, err
}

// Open is Conn.Open over one of the connections. The stream ends with it.
func (c *Client) Open(ctx context.Context, kind string, o OpenOptions) (s *Stream, err error) {
	err = c.do(ctx, func(conn *Conn) (err error) {
		s, err = conn.Open(ctx, kind, o)
		return err
	})
	return s, err
}

// Post is Conn.Post over one of the connections, once there is one. Posts keep their order on one
// connection only: with several, WithKey decides which.
func (c *Client) Post(ctx context.Context, kind string, body []byte) error {
	return c.do(ctx, func(conn *Conn) error { return conn.Post(ctx, kind, body) })
}

// PostBatch is Post for each of bodies, over one connection while it lives.
func (c *Client) PostBatch(ctx context.Context, kind string, bodies [][]byte) error {
	return c.do(ctx, func(conn *Conn) error {
		n, err := conn.postAll(ctx, kind, bodies, false)
		bodies = bodies[n:]
		return err
	})
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

// PostAck takes a post that the peer is to acknowledge, and returns its number. The client keeps a
// copy, and sends it again over each new connection until the peer has reported that its handler
// has completed. Posts are handled in the order of their numbers. While MaxUnacked or
// MaxUnackedBytes is reached, PostAck waits. A body has at most 16,384 bytes, which every peer
// takes.
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
