package tunneld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld/inspector"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// ErrRefused is wrapped by the error about a server that does not admit the client, refuses all of
// its bindings, or is not the expected server.
var ErrRefused = errors.New("refused")

// ErrGaveUp is wrapped by the error about a server that was away for longer than the
// settings wait.
var ErrGaveUp = errors.New("gave up connecting")

// ClientOptions configures a Client.
type ClientOptions struct {
	Settings *Settings
	Names    []string // of the tunnels to offer; none is all
	// Key is the file of the client's key if the settings name none; it is made if there
	// is none.
	Key string
	// FirstSeen is the file that stores the server's key for a configuration without a way to
	// verify it, "" for none.
	FirstSeen string
	// Bound is called with the result of binding each tunnel: where is a URL, or an address.
	Bound  func(name, where, target string)
	Agent  string // the name that the program gives of itself
	Logger *slog.Logger
}

// Client is the side of the services, as a program.
type Client struct {
	options ClientOptions
	log     *slog.Logger
	key     *keyid.Key
	tunnel  *client.Client
	link    wire.ClientConfig
	targets map[string]client.Tunnel

	inspector *inspector.Inspector // nil: none

	limit time.Duration   // how long to try without a connection, 0: for ever
	ctx   context.Context // ends when the client does; set by Run

	mu     sync.Mutex
	known  bool      // guarded by mu; the server has let us in once
	bound  bool      // guarded by mu; it has given us something once
	up     int       // guarded by mu; connections on which it has let us in
	down   time.Time // guarded by mu; when there was a connection last, or the start
	fronts fronts    // guarded by mu
	end    context.CancelCauseFunc
}

// NewClient checks the settings and reads the keys.
func NewClient(o ClientOptions) (*Client, error) {
	if connect := &o.Settings.Connect; connect.Plaintext && connect.TokenFile == "" {
		return nil, errors.New("plaintext wants a token (token_file, --token-file): a key is shown by TLS alone")
	}
	c := &Client{options: o, log: o.Logger, targets: map[string]client.Tunnel{}, limit: o.Settings.Backoff.MaxTime}
	chosen, err := o.Settings.choose(o.Names)
	if err != nil {
		return nil, err
	}
	config := client.Config{Logger: o.Logger, OnBound: c.onBound, Budget: o.Settings.Connect.Budget * 3 / 8} // the rest is the runtime's and wire's
	if o.Settings.Connect.Inspect != "" {
		c.inspector = inspector.New()
		config.OnFailed = c.onFailed
	}
	for _, t := range chosen {
		c.targets[t.Name] = t
		if c.inspector != nil && t.Protocol == tunnel.HTTP {
			if t, err = inspect(c.inspector, t); err != nil {
				return nil, err
			}
		}
		config.Tunnels = append(config.Tunnels, t)
	}
	if c.tunnel, err = client.New(config); err != nil {
		return nil, err
	}
	return c, c.configure()
}

// choose returns the tunnels with these names, all without names.
func (s *Settings) choose(names []string) (chosen []client.Tunnel, err error) {
	if len(names) == 0 {
		return s.Tunnels, nil
	}
	for _, name := range names {
		at := slices.IndexFunc(s.Tunnels, func(t client.Tunnel) bool { return t.Name == name })
		if at < 0 {
			err = errors.Join(err, fmt.Errorf("no tunnel is called %q", name))
			continue
		}
		chosen = append(chosen, s.Tunnels[at])
	}
	return chosen, err
}

// configure makes the link's configuration.
func (c *Client) configure() (err error) {
	backoff := c.options.Settings.Backoff
	config, key, err := c.options.Settings.Connect.link(c.options.Key, c.options.FirstSeen, c.log)
	if err != nil {
		return err
	}
	c.key = key
	config.Agent, config.Idle, config.Logger = c.options.Agent, idle, c.log
	c.link = wire.ClientConfig{
		Address: c.options.Settings.Connect.Server, Config: config, MinBackoff: backoff.Interval, MaxBackoff: backoff.MaxInterval,
		Conns:  c.options.Settings.Connect.Conns,
		GiveUp: c.failed, OnConnect: c.connected,
	}
	return nil
}

// ID returns the id that a server must list to admit the client. It returns false if the client
// uses a token.
func (c *Client) ID() (id keyid.ID, ok bool) {
	if c.key == nil {
		return id, false
	}
	return c.key.ID, true
}

// AddTo adds the client's services.
func (c *Client) AddTo(g *lifecycle.Group) {
	g.Add(lifecycle.GiveBack("tunnel memory", func() int { return c.tunnel.Stats().Inflight }))
	g.Add(lifecycle.Service{Name: "tunnel", Run: c.Run})
}

// Run serves until ctx ends. The error wraps ErrRefused or ErrGaveUp, or reports the work that the
// end cut off.
func (c *Client) Run(ctx context.Context) error {
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	c.ctx = ctx
	c.down = time.Now()
	err := c.tunnel.Run(ctx, c.link)
	if why := context.Cause(ctx); why != nil && !errors.Is(why, ctx.Err()) {
		return why
	}
	return err
}

// connected runs for each connection before anything is bound on it.
func (c *Client) connected(ctx context.Context, conn *wire.Conn) {
	where, err := wire.Call[struct{}, fronts](ctx, conn, kindFronts, struct{}{})
	if ctx.Err() != nil || errors.Is(err, wire.ErrNotSent) || errors.Is(err, wire.ErrMaybeSent) {
		return // the server has not admitted the client after all
	}
	if err != nil {
		where = fronts{}
	}
	c.mu.Lock()
	c.known, c.fronts = true, where
	c.up++
	c.mu.Unlock()
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.up--; c.up == 0 {
			c.down = time.Now()
		}
	})
	c.log.Info("connected", "server", conn.RemoteAddr().String())
}

// onBound reports the result of binding a tunnel. A client that is not allowed any of its tunnels
// ends: to try again would not help.
func (c *Client) onBound(b client.Bound) {
	if b.Err == nil {
		c.mu.Lock()
		c.bound = true
		target := c.targets[b.Tunnel]
		where := c.fronts.where(target.Protocol, b.Where)
		c.mu.Unlock()
		if c.options.Bound != nil {
			c.options.Bound(b.Tunnel, where, target.Target)
		}
		return
	}
	for _, b := range c.tunnel.Bindings() {
		if !hasCode(b.Err, wire.PermissionDenied) {
			return
		}
	}
	c.mu.Lock()
	bound := c.bound
	c.mu.Unlock()
	if !bound {
		c.end(fmt.Errorf("%w: %w", ErrRefused, b.Err))
	}
}

// onFailed shows the inspector an exchange for which there was no connection that it could
// have listened in on.
func (c *Client) onFailed(f client.Failure) {
	if !f.Reached && f.Request != nil && !strings.HasPrefix(c.targets[f.Tunnel].Target, "h2c://") {
		c.inspector.Failed(f.Tunnel, f.Request, f.Err.Error())
	}
}

// failed is asked after each connection or attempt that has failed whether to end.
func (c *Client) failed(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.explained(err)
	switch {
	case c.ctx.Err() != nil: // the end is ours
	case !c.known && rejected(err):
		c.end(fmt.Errorf("%w: %w", ErrRefused, err))
	case c.up == 0 && c.limit > 0 && time.Since(c.down) >= c.limit:
		c.end(fmt.Errorf("%w after %v: %w", ErrGaveUp, c.limit, err))
	default:
		c.log.Warn("no connection to the server", "error", err)
		return false
	}
	return true
}

// explained adds the cause and the remedy to a server's error.
func (c *Client) explained(err error) error {
	switch {
	case hasCode(err, wire.Unauthenticated) && c.key == nil:
		return fmt.Errorf("%w: the server does not take this token: it lists another one, or it has expired", err)
	case hasCode(err, wire.Unauthenticated):
		return fmt.Errorf("%w: the server does not list this machine, whose id is %s: its operator adds that to tunnel.clients, or says --allow ID=HOST", err, c.key.ID)
	case hasCode(err, wire.PermissionDenied):
		return fmt.Errorf("%w: the server keeps this client out: its operator has sent it away for a while, or has changed the list", err)
	case hasCode(err, wire.StaleEpoch):
		return fmt.Errorf("%w: another process has come with the same key or token, and has taken over: "+
			"offer all services from one file (paddock tunnel start), or give each process a key of its own (--key)", err)
	}
	return err
}

// rejected reports whether an error was decided by the server, or by the client about the server,
// and is not one of the network.
func rejected(err error) bool {
	return hasCode(err, wire.Unauthenticated) || hasCode(err, wire.PermissionDenied) || errors.As(err, new(untrusted))
}

func hasCode(err error, code wire.Code) bool {
	var e *wire.Error
	return errors.As(err, &e) && e.Code == code
}
