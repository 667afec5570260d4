package wire

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// Conn is one connection to a peer. All its methods may be called by any number
// of goroutines at once.
//
// A Conn drives a machine from three sides: a dispatcher feeds it received frames, callers add
// output, and a writer exists only while there is output. The dispatcher never waits for the
// writer, nor for a handler that is not Inline.
type Conn struct {
	nc     net.Conn
	sock   socket
	role   frame.Role
	config Config
	start  time.Time
	serial uint64 // among the connections of the process, from 1

	ctx    context.Context // of handlers; ends with the connection
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup // reader, writer, handlers
	ready  chan struct{}  // closed when the peer's HELLO was accepted
	done   chan struct{}  // closed once nothing is read or written any more

	in dispatcher // the reader goroutine's own

	mu         sync.Mutex // guards all below; never held during I/O or a handler
	m          *machine.Machine
	closed     bool
	delivering bool         // received frames were not dealt with yet
	err        error        // why closed
	flushed    bool         // the output that waited at the end is sent all the same
	unserved   bool         // work was under way when the connection ended
	lane       *sessionLane // set before ready is closed, by the dispatcher
	identity   any
	lastKind   binding
	idle       cond // no work is under way
	drained    cond // the peer has sent GOAWAY
	ponged     cond // a round trip was measured
	handlers   handlers
	beat       heartbeat
	slots      slotTable
	windows    windows
	sends      postSender
	out        outbox
	posts      postLane
	stats      shellStats
}

// binding remembers the kind that was used last: comparing a name with itself is
// cheaper than looking it up.
type binding struct {
	name   string
	number uint32
}

// Dial connects, with TLS if cfg has it, and starts the connection. It does not wait for the peer's
// HELLO: the first output follows ours. network and address are as for net.Dial.
func Dial(ctx context.Context, network, address string, cfg *Config) (*Conn, error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	if cfg != nil && cfg.TLS != nil {
		if nc, err = secureDialer(ctx, nc, address, cfg.TLS); err != nil {
			return nil, err
		}
	}
	return NewConn(nc, cfg)
}

// NewConn starts the dialing side of a connection over nc, which it owns from now on, also when it
// fails. The error is ErrHello, for a configuration that the peer would refuse.
func NewConn(nc net.Conn, cfg *Config) (*Conn, error) { return newConn(nc, frame.Dialer, cfg) }

// AcceptConn is NewConn for the accepting side. The sides differ in the ids that they allocate.
func AcceptConn(nc net.Conn, cfg *Config) (*Conn, error) { return newConn(nc, frame.Acceptor, cfg) }

func newConn(nc net.Conn, role frame.Role, cfg *Config) (*Conn, error) {
	c := &Conn{
		nc: nc, role: role, config: cfg.withDefaults(), start: time.Now(), serial: serials.Add(1),
		ready: make(chan struct{}), done: make(chan struct{}),
	}
	hello := c.config.hello()
	var err error
	if c.config.Auth != nil {
		hello.Auth, err = c.config.Auth(nc)
	}
	if err == nil {
		c.m, err = machine.New(role, hello, 0)
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	c.m.SentBefore(c.config.sentBefore)
	c.sock.init(nc, c.m.Self.Idle)
	c.in.c, c.in.answers.c, c.slots.c, c.windows.c, c.sends.c, c.posts.c = c, c, c, c, c, c
	c.handlers = handlers{c, map[string]int{}}
	c.out = outbox{c: c, spare: make([]byte, 0, 512)}
	c.out.write = c.out.writeLoop
	c.ctx, c.cancel = context.WithCancelCause(context.WithValue(context.Background(), connKey{}, c))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beat = heartbeat{c: c, due: machine.HelloTimeout}
	c.beat.timer = time.AfterFunc(c.beat.due, c.beat.tick)
	c.tasks.Add(1)
	go c.in.run()
	c.out.wake()
	return c, nil
}

type connKey struct{}

// serials numbers connections, for Name alone.
var serials atomic.Uint64

// ConnFrom is the connection on which a handler was called, nil elsewhere. Over it
// the handler may call back, unless it is Inline.
func ConnFrom(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}

// now returns the time on the machine's clock.
func (c *Conn) now() time.Duration { return time.Since(c.start) }

// Ready waits until the peer's HELLO has come and Verify has agreed. The error is
// that of ctx, or why the connection has ended.
func (c *Conn) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Admitted waits until the peer has agreed to our HELLO too. A connection that is Ready
// may still be refused: both HELLOs go out at once. The error is as of Ready.
func (c *Conn) Admitted(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.m.RTT() == 0 { // it answers nothing before
		if c.closed {
			return c.err
		}
		if err := c.ponged.wait(ctx, &c.mu); err != nil {
			return err
		}
	}
	return nil
}

// Peer returns the peer's HELLO, nil until Ready.
func (c *Conn) Peer() *Hello {
	if !isClosed(c.ready) {
		return nil
	}
	return c.m.PeerHello
}

// Identity returns the identity that Verify has set, nil if it has set none.
func (c *Conn) Identity() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}

// SetIdentity is called by Verify.
func (c *Conn) SetIdentity(who any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = who
}

// Name tells the connections of a process apart, in logs and statistics: "dialer-1",
// "acceptor-2".
func (c *Conn) Name() string { return fmt.Sprintf("%v-%d", c.role, c.serial) }

// Since returns the time at which the connection was started.
func (c *Conn) Since() time.Time { return c.start }

// Dialed reports whether this side has dialed; the other one has accepted.
func (c *Conn) Dialed() bool { return c.role == frame.Dialer }

// LocalAddr returns that of the connection beneath.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr returns that of the connection beneath.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// NetConn returns the connection beneath, to look at; it belongs to c.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns the reason why the connection has ended, nil before: ErrClosed, ErrPeerDead,
// ErrNotWire, *ProtocolError, *Error, or the socket's error.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// goawayReceived returns the times to wait that the peer's GOAWAY asks for.
func (c *Conn) goawayReceived() machine.Goaway {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Away
}

// GoingAway returns a channel that is closed when the peer drains; the connection
// takes no new work then.
func (c *Conn) GoingAway() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m.GoawayReceived || c.closed {
		return closedChannel
	}
	return c.drained.next()
}
