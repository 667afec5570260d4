package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

const (
	// h2Window bounds the unread bytes of one answer that a target of HTTP/2 may send.
	h2Window = 64 << 10
	// h2Each is the number of exchanges that share a connection. All of their windows fit into that
	// of the connection, which net/http has below 4 MiB: a visitor that does not read does not stop
	// the answers of others.
	h2Each = 50
	// h2Conns bounds the connections to one target, those included that only finish.
	h2Conns = 64
	// h2Stall is how long a connection lives of which the target takes nothing.
	h2Stall = 30 * time.Second
)

var (
	errH2Full = errors.New("tunnel: every connection to the target is full")
	errNoH2   = errors.New("the target does not speak HTTP/2")
	// errPlain reports that a target of https has chosen HTTP/1.1.
	errPlain = errors.New("tunnel: the target speaks HTTP/1.1")
)

// h2Pool holds the connections to a target of HTTP/2, each shared by exchanges. net/http implements
// the protocol; the pool decides on the number of connections and the assignment of exchanges. Safe
// for concurrent use.
type h2Pool struct {
	of     *target
	secure *tls.Config      // offers HTTP/2 and HTTP/1.1; nil: HTTP/2 alone, without TLS
	plain  relay.AtomicTime // until when the target is not asked for HTTP/2 again

	mu      sync.Mutex
	conns   []*h2Conn // guarded by mu, the oldest first: the others are idle first
	made    uint64    // guarded by mu; connections so far
	dialing *h2Dial   // guarded by mu; nil: no dial in progress
	closed  bool      // guarded by mu
}

// h2Dial is one that several exchanges wait for.
type h2Dial struct {
	over chan struct{} // closed at the end
	err  error         // why there is no connection; to be read once over is closed
}

// isPlain reports whether the target has chosen HTTP/1.1 lately.
func (p *h2Pool) isPlain() bool { return p.secure != nil && p.plain.IsAhead() }

// take finds capacity for an exchange on a connection younger than the first so many; leave returns
// it. The result is reserved for one RoundTrip.
func (p *h2Pool) take(ctx context.Context, first uint64) (*h2Conn, error) {
	for {
		p.mu.Lock()
		for _, c := range p.conns {
			if c.serial > first && c.enterLocked() {
				p.mu.Unlock()
				return c, nil
			}
		}
		d, mine := p.dialing, p.dialing == nil
		if mine && len(p.conns) >= h2Conns {
			p.mu.Unlock()
			return nil, errH2Full
		}
		if mine {
			d = &h2Dial{over: make(chan struct{})}
			p.dialing = d
		}
		p.mu.Unlock()
		if mine {
			return p.dial(ctx, d)
		}
		select {
		case <-d.over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if d.err != nil && !errors.Is(d.err, context.Canceled) { // otherwise the dial was another visitor's, and that one has left
			return nil, d.err
		}
	}
}

// dial adds a connection, takes it, and wakes the exchanges that wait for it.
func (p *h2Pool) dial(ctx context.Context, d *h2Dial) (c *h2Conn, err error) {
	err = p.of.attempt(ctx, func(ctx context.Context) (err error) {
		c, err = p.connect(ctx)
		return err
	})
	if err == nil && c == nil {
		err = errPlain
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.made++
		c.serial = p.made
		if !c.hasEnded() {
			p.conns = append(p.conns, c)
		}
		if !c.enterLocked() {
			err = &targetError{message.Refused(wire.Unavailable, "the target takes no exchange on a new connection"), nil}
		}
	}
	d.err = err
	p.dialing = nil
	close(d.over)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// connect makes a connection and waits for the target's settings: before them it is not
// known how many exchanges it takes, or whether it speaks HTTP/2 at all. It returns nil
// where the target has chosen HTTP/1.1; that connection waits for work.
func (p *h2Pool) connect(ctx context.Context) (*h2Conn, error) {
	conn, err := p.of.connect(ctx, p.secure)
	if err != nil {
		return nil, err
	}
	if secured, ok := conn.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol != "h2" {
		p.plain.Set(time.Now().Add(idleTime))
		p.of.pool.put(newBackend(conn))
		return nil, nil
	}
	c := &h2Conn{Conn: conn, pool: p, greeted: make(chan struct{}), ended: make(chan struct{})}
	if c.http, err = c.transport().NewClientConn(ctx, "http", "target:80"); err != nil {
		_ = conn.Close()
		return nil, err
	}
	select {
	case <-c.greeted:
		return c, nil
	case <-c.ended:
		return nil, errNoH2
	case <-ctx.Done():
		_ = c.http.Close()
		return nil, ctx.Err()
	}
}

// leave ends an exchange.
func (p *h2Pool) leave(c *h2Conn) {
	p.mu.Lock()
	c.inflight--
	last := p.closed && c.inflight == 0
	p.mu.Unlock()
	if last {
		_ = c.http.Close()
	}
}

// remove forgets a connection that has ended.
func (p *h2Pool) remove(c *h2Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = slices.DeleteFunc(p.conns, func(o *h2Conn) bool { return o == c })
}

// newest is how many connections there have been.
func (p *h2Pool) newest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// size is how many connections there are.
func (p *h2Pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// close closes the idle connections at once, and the others after their last exchange.
func (p *h2Pool) close() {
	p.mu.Lock()
	p.closed = true
	var idle []*h2Conn
	for _, c := range p.conns {
		if c.inflight == 0 {
			idle = append(idle, c)
		}
	}
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.http.Close()
	}
}

// h2Conn is a connection to a target of HTTP/2. net/http reads, writes and closes it.
type h2Conn struct {
	net.Conn
	pool     *h2Pool
	http     *http.ClientConn
	serial   uint64 // set when it is added to the pool
	inflight int    // guarded by pool.mu
	served   atomic.Bool

	reads   int           // of the only goroutine that reads
	greeted chan struct{} // closed when the target's settings have been read
	ended   chan struct{} // closed when it is
	end     sync.Once
}

// enterLocked reserves room for an exchange if there is some; pool.mu is held.
func (c *h2Conn) enterLocked() bool {
	if c.inflight >= h2Each || c.http.Reserve() != nil {
		return false
	}
	c.inflight++
	return true
}

// transport is the one of this connection alone.
func (c *h2Conn) transport() *http.Transport {
	alone := new(http.Protocols)
	alone.SetUnencryptedHTTP2(true) // TLS lies beneath, if there is any
	return &http.Transport{
		Protocols:              alone,
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return c, nil },
		DisableCompression:     true,
		IdleConnTimeout:        idleTime,
		ResponseHeaderTimeout:  max(c.pool.of.HeadTimeout, 0), // from the end of the request
		MaxResponseHeaderBytes: h1.MaxHead - 1<<10,            // it is a little longer as text
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: h2Window, MaxReceiveBufferPerConnection: h2Each * h2Window,
			MaxReadFrameSize: relay.H2Frame, WriteByteTimeout: h2Stall,
		},
	}
}

// Read implements net.Conn. The first bytes are the settings; when more is read, they have been
// processed.
func (c *h2Conn) Read(p []byte) (int, error) {
	if c.reads++; c.reads == 2 {
		close(c.greeted)
	}
	return c.Conn.Read(p)
}

// Close closes it, and takes it out of the pool.
func (c *h2Conn) Close() error {
	c.end.Do(func() {
		close(c.ended)
		c.pool.remove(c)
	})
	return c.Conn.Close()
}

// hasEnded reports whether the connection takes no more exchanges. net/http knows before it closes
// it, and fails exchanges in between.
func (c *h2Conn) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return c.http.Err() != nil
	}
}
