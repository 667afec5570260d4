package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/wire/frame"
)

const (
	// maxClientConns bounds the connections of one client.
	maxClientConns = 64
	// defaultMaxWaiting is how many callers wait while there is no connection.
	defaultMaxWaiting = 10_000
	// defaultDialTimeout bounds one attempt to connect; TLS has secureTimeout.
	defaultDialTimeout = 10 * time.Second
)

// ErrNoConn is wrapped, with ErrNotSent, by the errors of work for which there is
// no connection, and that does not wait for one.
var ErrNoConn = errors.New("wire: no connection")

// ErrSessionShared ends a Client whose session another process has too: the peer has acknowledged
// posts that were never sent, or another connection has taken the place of one that lived. The
// acknowledged posts may be the other process's.
var ErrSessionShared = errors.New("wire: another process uses the same session")

// ClientConfig is how a Client reaches its peer. Zeros stand for defaults.
type ClientConfig struct {
	// Network and Address are dialed, as by net.Dial; Network "" is tcp.
	Network, Address string
	// Dial replaces that. It returns the connection beneath TLS, if Config.TLS is set. DialTimeout
	// bounds its context, 0: 10 s. TLS has 30 s more, since a server to which all clients reconnect
	// lets them queue, and a client that gave up would join the queue at its end.
	Dial        func(ctx context.Context) (net.Conn, error)
	DialTimeout time.Duration
	// Conns is how many connections are held to the peer, 0: 1. At most 64.
	Conns int
	// Config is that of each connection. Its Mux is served on all of them: the peer
	// can call the client. Its Session names the client to the peer: nil is a random
	// id; Epoch 0 is the time in milliseconds, so that a process that starts again
	// under its old id takes over from the one before; Base is where the numbers of
	// acknowledged posts begin.
	Config *Config

	// MinBackoff and MaxBackoff bound the wait before an attempt after a failure: a random part of
	// MinBackoff, which is doubled with each failure, up to MaxBackoff; 0: 0.2 s, 30 s. After a
	// connection that has lived for Healthy, earlier failures no longer count; 0: 30 s.
	MinBackoff, MaxBackoff, Healthy time.Duration
	// GiveUp is called after each failure, and reports whether it is the last; nil never gives up.
	GiveUp func(error) bool
	// OnConnect is called for each connection when it is ready, on a goroutine of
	// its own: to subscribe again, for instance. ctx ends with the connection.
	OnConnect func(ctx context.Context, c *Conn)

	// MaxWaiting is how many callers may wait while there is no connection, 0:
	// 10,000. More get ErrNoConn.
	MaxWaiting int
	// MaxUnacked and MaxUnackedBytes bound the acknowledged posts that the peer has
	// not acknowledged; PostAck waits at the bound. 0: 65,536, and 16 MiB.
	MaxUnacked, MaxUnackedBytes int
	// SentBefore is for a program that keeps its posts and their numbers beyond its process, and
	// comes back with the same session, epoch and the Base that it knows: the highest number that
	// may have been sent. Posts that the peer has handled are acknowledged as soon as they are
	// posted again.
	SentBefore uint64
}

// withDefaults is a copy without zeros.
func (f ClientConfig) withDefaults() (ClientConfig, error) {
	switch {
	case f.Address == "" && f.Dial == nil:
		return f, errors.New("wire: client: neither an address nor Dial")
	case f.Conns < 0 || f.Conns > maxClientConns:
		return f, fmt.Errorf("wire: client: %d connections: want 1 to %d", f.Conns, maxClientConns)
	}
	f.Network = cmp.Or(f.Network, "tcp")
	f.Conns = cmp.Or(f.Conns, 1)
	f.DialTimeout = cmp.Or(f.DialTimeout, defaultDialTimeout)
	f.MinBackoff = cmp.Or(f.MinBackoff, defaultMinBackoff)
	f.MaxBackoff = cmp.Or(f.MaxBackoff, defaultMaxBackoff)
	f.Healthy = cmp.Or(f.Healthy, defaultHealthy)
	f.MaxWaiting = cmp.Or(f.MaxWaiting, defaultMaxWaiting)
	f.MaxUnacked = cmp.Or(f.MaxUnacked, defaultMaxUnacked)
	f.MaxUnackedBytes = cmp.Or(f.MaxUnackedBytes, defaultMaxUnackedBytes)
	return f, nil
}

// Client holds connections to one peer, and makes new ones when they end, for ever
// unless told otherwise. All methods may be called by any number of goroutines.
//
// Work that was not sent yet goes to another connection, or waits for the next one
// until its context ends. Work that was sent and not answered when its connection
// ended fails with ErrMaybeSent, unless its context is Idempotent. Posts without
// acknowledgement that were under way are lost; those with are sent again, and the
// peer's Sessions handle each of them once.
//
// With several connections, work goes to the one with the fewest calls in flight,
// or for a context with WithKey to one that the key decides: only that keeps the
// order.
type Client struct {
	config  ClientConfig
	conn    Config // of each connection, but for the session's index and base
	links   []*link
	lane    ackLane
	ctx     context.Context
	cancel  context.CancelCauseFunc
	tasks   sync.WaitGroup
	turn    atomic.Uint32 // where the search for a connection begins
	ending  atomic.Pointer[error]
	leaving atomic.Bool // no more connections are made
	retries atomic.Uint64
	unsure  atomic.Uint64 // ErrMaybeSent

	mu       sync.Mutex // guards all below
	changed  cond       // a connection has come, or the client ends
	waiting  int
	last     error // of the last attempt or connection
	connects uint64
	failures uint64
	held     map[*Conn]struct{} // connections that have come and have not ended
}

var _ Caller = (*Client)(nil)

// NewClient returns a client that has begun to connect. It must be closed.
func NewClient(config ClientConfig) (*Client, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Client{config: config, conn: config.Config.withDefaults(), held: map[*Conn]struct{}{}}
	c.conn.Session = clientSession(c.conn.Session)
	hello := c.conn.hello()
	if _, err := frame.AppendHello(nil, hello); err != nil {
		return nil, err
	}
	c.lane.begin(c.conn.Session.Base, config.SentBefore, config.MaxUnacked, config.MaxUnackedBytes)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	for i := range config.Conns {
		l := &link{c: c, index: uint32(i), backoff: newBackoff(config.MinBackoff, config.MaxBackoff, config.Healthy)}
		c.links = append(c.links, l)
	}
	for _, l := range c.links {
		c.tasks.Go(l.run)
	}
	return c, nil
}

// clientSession returns the session by which the peer knows the client.
func clientSession(given *Session) *Session {
	if given == nil {
		s := &Session{Epoch: 1}
		_, _ = rand.Read(s.ID[:])
		return s
	}
	s := *given
	s.Epoch = cmp.Or(s.Epoch, uint64(time.Now().UnixMilli()))
	return &s
}

// Session is the session by which the peer knows the client.
func (c *Client) Session() Session { return *c.conn.Session }

// Ready waits for a connection.
func (c *Client) Ready(ctx context.Context) error {
	_, _, err := c.pick(ctx)
	return err
}

// Conns are the connections that take work at present.
func (c *Client) Conns() (conns []*Conn) {
	for _, l := range c.links {
		if conn := l.conn.Load(); conn != nil {
			conns = append(conns, conn)
		}
	}
	return conns
}

// Err is why the last attempt or connection failed, nil if none has.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Close ends the client: waiting work gets ErrNotSent, current work fails, and posts that were not
// acknowledged are forgotten. It waits for handlers, as Conn.Close does.
func (c *Client) Close() error {
	c.end(ErrClosed)
	c.tasks.Wait()
	return nil
}

// end lets no new work in, and ends everything with err.
func (c *Client) end(err error) {
	c.refuse(err)
	c.cancel(err)
	c.lane.end(err)
}

// refuse admits no new work. Waiting work fails.
func (c *Client) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.ending.Load(); why == nil || *why == ErrDraining {
		c.ending.Store(&err)
	}
	c.changed.broadcast()
}

// Drain takes no new work, lets current work come to its end, acknowledged posts included, and
// closes. The error means that work was cut off, after Config.DrainTimeout or when ctx ended.
func (c *Client) Drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.conn.DrainTimeout)
	defer cancel()
	c.refuse(ErrDraining)
	err := c.lane.settle(ctx)
	c.leaving.Store(true)
	c.mu.Lock()
	conns := slices.Collect(maps.Keys(c.held)) // also connections that the peer drains
	c.mu.Unlock()
	failed := make(chan error, len(conns))
	for _, conn := range conns {
		go func() { failed <- conn.Drain(ctx) }()
	}
	for range conns {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, c.Close())
}

// ClientStats holds the counts of a Client.
type ClientStats struct {
	Connections  int           // that take work now
	Waiting      int           // callers that wait for a connection
	Connects     uint64        // connections that became ready
	Failures     uint64        // attempts and connections that failed
	Retries      uint64        // calls that were sent again, or to another connection
	MaybeSent    uint64        // calls that failed with ErrMaybeSent
	Unacked      int           // acknowledged posts that wait for the peer
	UnackedBytes int           // and their bodies
	Resent       uint64        // acknowledged posts that went to a second connection
	Stalled      time.Duration // of PostAck, waiting for room
	Conflated    uint64        // keyed posts that a later one replaced while there was no connection
	Dropped      uint64        // posts that found no connection and did not wait
}

// Stats returns the present counts; those of the connections are their own.
func (c *Client) Stats() ClientStats {
	s := ClientStats{Retries: c.retries.Load(), MaybeSent: c.unsure.Load(), Connections: len(c.Conns())}
	c.mu.Lock()
	s.Waiting, s.Connects, s.Failures = c.waiting, c.connects, c.failures
	c.mu.Unlock()
	c.lane.count(&s)
	for _, l := range c.links {
		l.count(&s)
	}
	return s
}
