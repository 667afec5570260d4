package client

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/pipe"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// listener hands visitors to the program itself.
type listener struct {
	c    *Client
	id   uint16
	conn chan net.Conn // unbuffered: a waiting connection counts as current work
	done chan struct{} // closed by Close
	once sync.Once
	told chan Bound // holds the last, until Listen has seen it

	mu    sync.Mutex
	where string // guarded by mu
}

// Listen binds one more tunnel, whose visitors are connections of the listener: nothing is dialed,
// and no port is opened. Target and Dial of t are empty. Listen waits until the tunnel is bound,
// which needs Run or Connected, and fails when it is refused or ctx has ended. The tunnel then
// stays bound across lost connections, until Close.
//
// Visitors of TCP and SNI come unchanged: with their own addresses, with CloseWrite, and cut when
// the connection to the server is lost. For HTTP a connection carries exchanges, as from a reverse
// proxy; pass the listener to http.Serve. Close does not affect accepted connections.
func (c *Client) Listen(ctx context.Context, t Tunnel) (net.Listener, error) {
	if t.Target != "" || t.Dial != nil {
		return nil, errors.New("tunnel: Listen: a listener has neither Target nor Dial")
	}
	l := &listener{c: c, conn: make(chan net.Conn), done: make(chan struct{}), told: make(chan Bound, 1)}
	if t.Protocol == tunnel.HTTP {
		t.Dial = l.dial
	}
	target, err := newTarget(t, &c.counts, l)
	if err != nil {
		return nil, err
	}
	if l.id, err = c.add(target); err != nil {
		return nil, err
	}
	for _, conn := range c.connections() {
		missing := c.bind(ctx, conn, []uint16{l.id})
		if c.of(l.id) != target && len(missing) > 0 { // of another listener, see letGo
			go c.keepBinding(context.WithoutCancel(ctx), conn, missing)
		}
	}
	select {
	case b := <-l.told:
		if err = b.Err; err == nil {
			return l, nil
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = l.Close()
	return nil, err
}

// connections are those on which tunnels are bound.
func (c *Client) connections() []*wire.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.conns))
}

// note records the result of binding the tunnel. A lost connection is no refusal: the next one asks
// again.
func (l *listener) note(b Bound) {
	if _, refused := b.Err.(*wire.Error); b.Err != nil && !refused {
		return
	}
	l.mu.Lock()
	if b.Err == nil {
		l.where = b.Where
	}
	l.mu.Unlock()
	select {
	case l.told <- b:
	default:
	}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.done:
		return nil, l.error("accept", net.ErrClosed)
	}
}

// unbindTime bounds how long Close waits for the server to have let go of the name.
const unbindTime = 5 * time.Second

// Close implements net.Listener: the name is free when it returns, if the server answers, or as
// soon as a binding that is under way has been answered.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		target := l.c.of(l.id)
		l.c.remove(l.id)
		target.closeIdle()
		ctx, cancel := context.WithTimeout(context.Background(), unbindTime)
		defer cancel()
		for _, conn := range l.c.connections() {
			unbind(ctx, conn, l.id)
		}
	})
	return nil
}

func unbind(ctx context.Context, conn *wire.Conn, id uint16) {
	_, _ = wire.Call[message.UnbindRequest, message.UnbindAnswer](ctx, conn, message.KindUnbind, message.UnbindRequest{IDs: []uint16{id}})
}

// letGo unbinds a tunnel that was bound after its listener had been closed. The id may have come to
// mean another tunnel, which is bound again, and returned if that is refused.
func (c *Client) letGo(conn *wire.Conn, id uint16) (missing []uint16) {
	ctx, cancel := context.WithTimeout(context.Background(), unbindTime)
	defer cancel()
	unbind(ctx, conn, id)
	return c.bind(ctx, conn, []uint16{id})
}

// Addr is where visitors find it.
func (l *listener) Addr() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return relay.TunnelAddr(l.where)
}

func (l *listener) error(op string, err error) error {
	return &net.OpError{Op: op, Net: "tunnel", Addr: l.Addr(), Err: err}
}

// offer waits until the connection is accepted.
func (l *listener) offer(ctx context.Context, conn net.Conn) error {
	select {
	case l.conn <- conn:
		return nil
	case <-l.done:
		return l.error("dial", net.ErrClosed)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dial makes a connection for exchanges.
func (l *listener) dial(ctx context.Context) (net.Conn, error) {
	near, far := pipe.New(l.Addr())
	err := l.offer(ctx, far)
	if err != nil {
		return nil, err
	}
	return near, nil
}

// serveRaw hands a visitor over, and waits for the end of its connection.
func (l *listener) serveRaw(ctx context.Context, st *wire.Stream, open *message.Channel) error {
	conn := relay.NewRawConn(st, open.Rest, relay.AddrOf(open.Local), relay.AddrOf(open.Visitor))
	within, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := l.offer(within, conn); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return message.Refused(wire.Unavailable, "the listener does not accept the connection")
	}
	select {
	case <-conn.Closed:
	case <-ctx.Done():
	}
	return nil
}
