// Package client is the side of a tunnel that has the services: it connects to a tunnel server,
// binds names and addresses there, and connects their visitors to local targets. Package
// paddock/tunnel explains the whole.
//
// [Client.Run] holds a connection of its own. A program that already has a wire.Client uses
// Register and Connected instead.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/process/logbound"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// Client is the side that cannot be reached: it offers local services through a server.
// Run holds a connection of its own; a program that has a wire.Client already uses
// Register and Connected.
type Client struct {
	config  Config
	log     *slog.Logger
	linger  time.Duration
	budget  byteBudget
	counts  clientCounts
	reach   atomic.Pointer[reach]     // nil: no channels are made
	hint    hintSender                // of budget
	hinted  relay.AtomicTime          // when a hint was sent
	directs atomic.Int64              // channels, made or being made
	fails   logbound.Lines            // of the log
	targets atomic.Pointer[[]*target] // that of id i is at i-1, nil where a listener was closed

	mu    sync.Mutex
	conns map[*wire.Conn]bool // guarded by mu; on which all is bound, and whether their servers take hints
	bound []Bound             // guarded by mu; by tunnel
}

// Config configures a Client. Zeros stand for defaults.
type Config struct {
	Tunnels []Tunnel
	// Budget bounds the bytes that concurrent exchanges and connections may hold, 0: 96 MiB. Each
	// counts 64 KiB, and a small exchange also its request. An exchange beyond the budget is
	// refused before any of it reaches a target.
	Budget int64
	// SmallMax bounds head and body of a small exchange together, which goes in one piece. 0 is 32
	// KiB; for a slow link it should be less, at least 1 KiB.
	SmallMax int
	// Linger is how long one direction of a raw connection lives on without a byte when
	// the other one has ended, 0: 60 s.
	Linger time.Duration
	// OnBound is called with the result of binding each tunnel, at each connection. It must not
	// block.
	OnBound func(Bound)
	// OnFailed is called for each visitor that a local service has failed. It must not block.
	// Failures are logged as well, at most 50 a second.
	OnFailed func(Failure)
	// Logger receives errors; nil is slog.Default.
	Logger *slog.Logger
}

// Bound is the result of binding a tunnel at the server.
type Bound struct {
	Tunnel string // its name
	Where  string // as visitors know it, "" if it is not bound
	Direct bool   // its visitors may go by connections of their own
	Group  string // the group that may share the name, "" if it is exclusive
	Err    error  // why not: an *Error of wire, or why the connection ended
}

// New checks the configuration. The client needs no Close: it holds only idle connections to
// targets, which end with Run or CloseIdle.
func New(config Config) (*Client, error) {
	c := &Client{
		config: config, log: cmp.Or(config.Logger, slog.Default()), linger: cmp.Or(config.Linger, time.Minute),
		budget: byteBudget{limit: cmp.Or(config.Budget, defaultBudget)}, conns: map[*wire.Conn]bool{},
	}
	c.hint.c, c.hint.over = c, func(message.HintState) bool { return c.budget.roomy() }
	if n := len(config.Tunnels); n > message.MaxTunnels {
		return nil, fmt.Errorf("tunnel: %d tunnels: want at most %d", n, message.MaxTunnels)
	}
	if config.Budget < 0 || config.Budget > 0 && config.Budget < minBudget {
		return nil, fmt.Errorf("tunnel: Budget %d: want at least %d", config.Budget, minBudget)
	}
	if n := config.SmallMax; n != 0 && (n < message.MinSmall || n > message.MaxSmall) {
		return nil, fmt.Errorf("tunnel: SmallMax %d: want %d to %d", n, message.MinSmall, message.MaxSmall)
	}
	for _, t := range config.Tunnels {
		b, err := newTarget(t, &c.counts, nil)
		if err != nil {
			return nil, err
		}
		if _, err := c.add(b); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// add gives a target an id.
func (c *Client) add(b *target) (id uint16, err error) {
	ask := b.ask(1)
	if _, err := ask.Binding(); err != nil {
		return 0, fmt.Errorf("tunnel %s: %w", b.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	targets := slices.Clone(c.all())
	at := slices.Index(targets, nil)
	if at < 0 {
		if at = len(targets); at == message.MaxTunnels {
			return 0, fmt.Errorf("%w: %d tunnels", tunnel.ErrOverloaded, message.MaxTunnels)
		}
		targets, c.bound = append(targets, nil), append(c.bound, Bound{})
	}
	b.hint.c, b.hint.tunnel, b.hint.over = c, uint16(at+1), b.takes
	targets[at], c.bound[at] = b, Bound{Tunnel: b.Name, Err: wire.ErrNoConn}
	c.targets.Store(&targets)
	return uint16(at + 1), nil
}

// remove makes the id mean nothing any more.
func (c *Client) remove(id uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	targets := slices.Clone(c.all())
	targets[id-1] = nil
	c.bound[id-1] = Bound{}
	c.targets.Store(&targets)
}

// all returns the targets by id, of which some may be nil. The list is immutable.
func (c *Client) all() []*target {
	if list := c.targets.Load(); list != nil {
		return *list
	}
	return nil
}

// each calls f with each target.
func (c *Client) each(f func(*target)) {
	for _, b := range c.all() {
		if b != nil {
			f(b)
		}
	}
}

// ids returns all ids, of which some may mean nothing.
func (c *Client) ids() []uint16 {
	ids := make([]uint16, len(c.all()))
	for i := range ids {
		ids[i] = uint16(i + 1)
	}
	return ids
}

// of is the target of an id, nil if it means nothing.
func (c *Client) of(id uint16) *target {
	if all := c.all(); id > 0 && int(id) <= len(all) {
		return all[id-1]
	}
	return nil
}

// Register serves visitors on the connections whose Mux is m.
func (c *Client) Register(m *wire.Mux) {
	m.HandleRequest(message.KindHTTP, c.serveRequest, wire.Inline())
	m.HandleStream(message.KindHTTP, c.serveStream)
	m.HandleStream(message.KindConn, c.serveRaw)
}

// Run keeps a connection to a server and serves visitors until ctx ends, which is not reported as
// an error: current work is finished first. If config.GiveUp declares a failure final, Run returns
// it. Run replaces the Mux of config; OnConnect returns before any tunnel is bound on the
// connection.
func (c *Client) Run(ctx context.Context, config wire.ClientConfig) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	shared := wire.Config{}
	if config.Config != nil {
		shared = *config.Config
	}
	shared.Mux = wire.NewMux()
	c.Register(shared.Mux)
	config.Config = &shared
	if ask := config.GiveUp; ask != nil {
		config.GiveUp = func(err error) bool {
			last := ask(err)
			if last {
				end(&gaveUp{err})
			}
			return last
		}
	}
	first := config.OnConnect
	config.OnConnect = func(ctx context.Context, conn *wire.Conn) {
		if first != nil {
			first(ctx, conn)
		}
		if ctx.Err() == nil && conn.Err() == nil {
			c.Connected(ctx, conn)
		}
	}
	c.Reach(&config)
	link, err := wire.NewClient(config)
	if err != nil {
		return err
	}
	defer c.wait()
	defer c.CloseIdle()
	<-ctx.Done()
	if last := new(gaveUp); errors.As(context.Cause(ctx), &last) {
		_ = link.Close()
		return last.error
	}
	return link.Drain(context.WithoutCancel(ctx)) // within DrainTimeout
}

// gaveUp is the failure after which Run ends.
type gaveUp struct{ error }

// CloseIdle closes the connections to targets that wait for work, and those in use when
// they are done. It is for the end.
func (c *Client) CloseIdle() {
	c.each((*target).closeIdle)
}

// wait waits for the goroutines of connections to targets. No exchange is under way.
func (c *Client) wait() {
	c.each(func(b *target) { b.pool.tasks.Wait() })
}

// Bindings returns the result of binding each tunnel: the configured ones in their order, then
// those of listeners.
func (c *Client) Bindings() (list []Bound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range c.all() {
		if b != nil {
			list = append(list, c.bound[i])
		}
	}
	return list
}

// minRetry and maxRetry bound the wait before a refused tunnel is asked for again: the lease of
// another client may end, or a policy may change.
const minRetry, maxRetry = time.Second, 30 * time.Second

// Connected binds all tunnels on a new connection, and repeatedly the refused ones, until ctx ends.
// It is made for wire.ClientConfig.OnConnect.
func (c *Client) Connected(ctx context.Context, conn *wire.Conn) {
	c.mu.Lock()
	c.conns[conn] = false
	missing := c.ids()
	c.mu.Unlock()
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.conns, conn)
	})
	c.keepBinding(ctx, conn, missing)
}

// keepBinding asks for the tunnels with these ids until none of them is refused, or the connection
// or ctx has ended.
func (c *Client) keepBinding(ctx context.Context, conn *wire.Conn, ids []uint16) {
	for wait := minRetry; len(ids) > 0; wait = min(2*wait, maxRetry) {
		if ids = c.bind(ctx, conn, ids); len(ids) == 0 {
			return
		}
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-conn.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// maxBind bounds the bytes of names in one request: with the other fields they fit a frame that
// every server accepts.
const maxBind = 32 << 10

// asks yields requests for the tunnels with these ids, with their targets. Large lists are sent in
// parts: the leases of later parts run for a moment longer.
func (c *Client) asks(ids []uint16) iter.Seq2[message.BindRequest, []*target] {
	return func(yield func(message.BindRequest, []*target) bool) {
		r := message.BindRequest{Version: message.Version, SmallMax: c.config.SmallMax}
		var asked []*target
		size := 0
		for _, id := range ids {
			b := c.of(id)
			if b == nil {
				continue
			}
			ask := b.ask(id)
			if size += ask.Size(); size > maxBind && len(asked) > 0 {
				if !yield(r, asked) {
					return
				}
				r.Tunnels, asked, size = nil, nil, ask.Size()
			}
			r.Tunnels, asked = append(r.Tunnels, ask), append(asked, b)
		}
		if len(asked) > 0 {
			yield(r, asked)
		}
	}
}

// ask sends a request of asks.
func ask(ctx context.Context, conn *wire.Conn, kind string, r message.BindRequest) (message.BindAnswer, error) {
	a, err := wire.Call[message.BindRequest, message.BindAnswer](ctx, conn, kind, r)
	if err == nil && len(a.Results) != len(r.Tunnels) {
		err = errors.New("tunnel: the server has answered for other tunnels")
	}
	return a, err
}

// bind asks for the tunnels with these ids, and returns the refused ones.
func (c *Client) bind(ctx context.Context, conn *wire.Conn, ids []uint16) (missing []uint16) {
	for r, asked := range c.asks(ids) {
		a, err := ask(ctx, conn, message.KindBind, r)
		if err == nil && a.Hints {
			c.takesHints(conn)
		}
		for i, target := range asked {
			b := Bound{Tunnel: target.Name, Err: err}
			if err == nil {
				b.take(target, &a, i)
			}
			id := r.Tunnels[i].ID
			if b.Err != nil {
				missing = append(missing, id)
			}
			if !c.note(id, target, b) && b.Err == nil {
				missing = append(missing, c.letGo(conn, id)...)
			}
		}
	}
	return missing
}

// take reads the server's answer.
func (b *Bound) take(target *target, a *message.BindAnswer, i int) {
	got := &a.Results[i]
	if *b = (Bound{Tunnel: target.Name}); got.Code != 0 {
		b.Err = a.Refusal(i, target.Group)
		return
	}
	if b.Where, b.Direct = got.Where, got.Direct; a.Groups {
		b.Group = target.Group
	}
}

// note records and reports the result of binding a tunnel, unless it is known already. It returns
// false if the listener was closed meanwhile.
func (c *Client) note(id uint16, target *target, b Bound) bool {
	c.mu.Lock()
	if c.of(id) != target {
		c.mu.Unlock()
		return false
	}
	before := c.bound[id-1]
	c.bound[id-1] = b
	c.mu.Unlock()
	if target.listener != nil {
		target.listener.note(b)
	}
	if before.Where == b.Where && fmt.Sprint(before.Err) == fmt.Sprint(b.Err) {
		return true
	}
	if b.Err != nil {
		c.log.Warn("tunnel: not bound", "tunnel", b.Tunnel, "error", b.Err)
	} else {
		c.log.Info("tunnel: bound", "tunnel", b.Tunnel, "at", b.Where)
		if target.Group != b.Group {
			c.log.Warn("tunnel: the server knows no groups: the name is exclusive", "tunnel", b.Tunnel, "group", target.Group)
		}
		if target.Direct && !b.Direct {
			c.log.Warn("tunnel: the server takes no direct channels, and carries visitors by the link", "tunnel", b.Tunnel)
		}
	}
	if c.config.OnBound != nil {
		c.config.OnBound(b)
	}
	return true
}

// smallMax is the most that a small answer has.
func (c *Client) smallMax() int { return cmp.Or(c.config.SmallMax, message.MaxSmall) }

// enter finds the target of a tunnel's id and counts an exchange that may come to hold
// size bytes; leave ends it.
func (c *Client) enter(id uint16, size int, protocols ...tunnel.Protocol) (*target, error) {
	b := c.of(id)
	if b == nil {
		return nil, message.Refused(wire.NotFound, "no tunnel %d", id)
	}
	if !slices.Contains(protocols, b.Protocol) {
		return nil, message.Refused(wire.NotFound, "tunnel %d is of %s", id, b.Protocol)
	}
	if !b.enter() {
		b.hint.tell(message.HintFull, message.MaxHint)
		return nil, c.full("too much is under way at the target")
	}
	if !c.budget.take(size + b.ahead) {
		b.leave()
		c.hint.tell(message.HintFull, message.MaxHint)
		return nil, c.full("too much is under way at the client")
	}
	return b, nil
}

// leave undoes the accounting of enter.
func (c *Client) leave(b *target, size int) {
	c.budget.give(size + b.ahead)
	b.leave()
	c.hint.settle()
}

// full returns the refusal of an exchange beyond a bound; the visitor is asked to come again.
func (c *Client) full(why string) error {
	c.counts.full.Add(1)
	e := message.Refused(wire.ResourceExhausted, "%s", why)
	e.RetryAfter = time.Second
	return e
}
