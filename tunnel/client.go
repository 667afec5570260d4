package tunnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"paddock/wire"
)

// Client is the side that cannot be reached: it offers local services through a server.
// Run holds a connection of its own; a program that has a wire.Client already uses
// Register and Connected.
type Client struct {
	config  ClientConfig
	targets []*target // that of id i is targets[i-1]
	log     *slog.Logger
	linger  time.Duration

	mu    sync.Mutex
	bound []Bound // guarded by mu; by tunnel
}

// ClientConfig is what a Client offers. Zeros stand for defaults.
type ClientConfig struct {
	Tunnels []Tunnel
	// SmallMax is the most that head and body of a small exchange have together, 0:
	// 32 KiB. A thin link takes less, at least 1 KiB: such an exchange goes in one piece.
	SmallMax int
	// Linger is how long one direction of a raw connection lives on without a byte when
	// the other one has ended, 0: 60 s.
	Linger time.Duration
	// OnBound is told what became of each tunnel, at each connection; it does not wait.
	OnBound func(Bound)
	// Logger gets what fails; nil is slog.Default.
	Logger *slog.Logger
}

// Bound is what became of a tunnel at the server.
type Bound struct {
	Tunnel string // its name
	Where  string // as visitors know it, "" if it is not bound
	Err    error  // why not: an *Error of wire, or why the connection ended
}

// NewClient checks the configuration. The client needs no Close: what it holds are
// connections to targets that wait, and they end with Run or CloseIdle.
func NewClient(config ClientConfig) (*Client, error) {
	c := &Client{config: config, log: cmp.Or(config.Logger, slog.Default()), linger: cmp.Or(config.Linger, time.Minute)}
	if n := len(config.Tunnels); n == 0 || n > maxTunnels {
		return nil, fmt.Errorf("tunnel: %d tunnels: want 1 to %d", n, maxTunnels)
	}
	if n := config.SmallMax; n != 0 && (n < minSmall || n > maxSmall) {
		return nil, fmt.Errorf("tunnel: SmallMax %d: want %d to %d", n, minSmall, maxSmall)
	}
	for i, t := range config.Tunnels {
		b, err := newTarget(t)
		if err != nil {
			return nil, err
		}
		ask := b.ask(uint16(i + 1))
		if _, err := ask.binding(); err != nil {
			return nil, fmt.Errorf("tunnel %s: %w", t.Name, err)
		}
		c.targets = append(c.targets, b)
		c.bound = append(c.bound, Bound{Tunnel: t.Name, Err: wire.ErrNoConn})
	}
	return c, nil
}

// Register serves visitors on the connections whose Mux is m.
func (c *Client) Register(m *wire.Mux) {
	m.HandleRequest(kindHTTP, c.serveRequest)
	m.HandleStream(kindHTTP, c.serveStream)
	m.HandleStream(kindConn, c.serveRaw)
}

// Run holds a connection to a server and serves visitors until ctx ends, or until
// config.GiveUp says so. Mux and OnConnect of config are replaced.
func (c *Client) Run(ctx context.Context, config wire.ClientConfig) error {
	shared := wire.Config{}
	if config.Config != nil {
		shared = *config.Config
	}
	shared.Mux = wire.NewMux()
	c.Register(shared.Mux)
	config.Config = &shared
	config.OnConnect = c.Connected
	link, err := wire.NewClient(config)
	if err != nil {
		return err
	}
	defer c.CloseIdle()
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(shared.DrainTimeout, 10*time.Second))
	defer cancel()
	return link.Drain(drain)
}

// CloseIdle closes the connections to targets that wait for work, and those in use when
// they are done. It is for the end.
func (c *Client) CloseIdle() {
	for _, b := range c.targets {
		b.pool.close()
	}
}

// Bindings are what became of each tunnel, in the order of the configuration.
func (c *Client) Bindings() []Bound {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Bound(nil), c.bound...)
}

// minRetry and maxRetry bound the wait before a tunnel is asked for again that was
// refused: somebody else's lease may end, a policy may change.
const minRetry, maxRetry = time.Second, 30 * time.Second

// Connected binds all tunnels on a new connection, and again and again those that are
// refused, until ctx ends. It is made for wire.ClientConfig.OnConnect.
func (c *Client) Connected(ctx context.Context, conn *wire.Conn) {
	missing := make([]uint16, len(c.targets))
	for i := range missing {
		missing[i] = uint16(i + 1)
	}
	for wait := minRetry; ; wait = min(2*wait, maxRetry) {
		missing = c.bind(ctx, conn, missing)
		if len(missing) == 0 {
			break
		}
		timer := time.NewTimer(wait/2 + rand.N(wait/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// bind asks for the tunnels with these ids, and returns those that were refused.
func (c *Client) bind(ctx context.Context, conn *wire.Conn, ids []uint16) (missing []uint16) {
	r := bindRequest{Version: version, SmallMax: c.config.SmallMax}
	for _, id := range ids {
		r.Tunnels = append(r.Tunnels, c.targets[id-1].ask(id))
	}
	a, err := wire.Call[bindRequest, bindAnswer](ctx, conn, kindBind, r)
	if err == nil && len(a.Results) != len(ids) {
		err = errors.New("tunnel: the server has answered for other tunnels")
	}
	for i, id := range ids {
		b := Bound{Tunnel: c.targets[id-1].Name, Err: err}
		if err == nil {
			if got := a.Results[i]; got.Code == 0 {
				b.Where = got.Where
			} else {
				b.Err = &wire.Error{Code: got.Code, Msg: got.Reason}
			}
		}
		if b.Err != nil {
			missing = append(missing, id)
		}
		c.note(id, b)
	}
	return missing
}

// note tells what became of a tunnel, unless that was known.
func (c *Client) note(id uint16, b Bound) {
	c.mu.Lock()
	before := c.bound[id-1]
	c.bound[id-1] = b
	c.mu.Unlock()
	if before.Where == b.Where && fmt.Sprint(before.Err) == fmt.Sprint(b.Err) {
		return
	}
	if b.Err != nil {
		c.log.Warn("tunnel: not bound", "tunnel", b.Tunnel, "error", b.Err)
	} else {
		c.log.Info("tunnel: bound", "tunnel", b.Tunnel, "at", b.Where)
	}
	if c.config.OnBound != nil {
		c.config.OnBound(b)
	}
}

// target is that of a tunnel's id. It counts the exchange; leave ends it.
func (c *Client) target(id uint16, protocols ...Protocol) (*target, error) {
	if id == 0 || int(id) > len(c.targets) {
		return nil, refused(wire.NotFound, "no tunnel %d", id)
	}
	b := c.targets[id-1]
	for _, p := range protocols {
		if b.Protocol == p {
			return b, b.enter()
		}
	}
	return nil, refused(wire.NotFound, "tunnel %d is of %s", id, b.Protocol)
}
