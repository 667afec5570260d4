package tunneld

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/tunnel"
	"paddock/tunnel/server"
	"paddock/tunnel/tunnelstats"
	"paddock/wire"
)

// maxOperators bounds the connections of the control socket.
const maxOperators = 16

// Role is the server's side without a link of its own: the listeners for visitors, the list of
// clients with their permissions, and the operators' access. The owner of clients' connections
// serves the role on them: see Register, Verify and Authorize.
type Role struct {
	options ServerOptions
	seen    string    // the stamp of the file that was read last
	taken   *Settings // the last ones that are in use, but for Serve
	shares  shares
	log     *slog.Logger
	roster  *Roster
	tunnel  *server.Server
	conns   func() iter.Seq[*wire.Conn]     // among which the clients' are; set by Register
	visitor atomic.Pointer[tls.Certificate] // for visitors, nil without TLS
	http    net.Listener                    // nil: none
	tls     net.Listener                    // nil: none
	control net.Listener                    // nil: none
	desk    *wire.Server                    // of operators at control
	looks   looks                           // for the dashboard
}

// NewRole returns a role with these settings. It does not listen yet: see Open.
func NewRole(o ServerOptions) *Role {
	serve := &o.Settings.Serve
	r := &Role{options: o, seen: stamp(o.File), taken: o.Settings, log: o.Logger, roster: NewRoster(o.Settings.Clients)}
	r.tunnel = &server.Server{
		Policy: doors{r.roster, serve}, Identify: Identify, MaxInflight: r.roster.MaxInflight, Logger: r.log,
		TrustedProxies: serve.Trusted, ProxyProtocolFrom: serve.Proxies, NoHTTP2: serve.NoHTTP2,
		Limits: serve.Limits, Hooks: r.hooks(),
	}
	limits := &r.tunnel.Limits
	limits.Lease, limits.Bytes = serve.Lease, serve.Budget*3/8 // the rest is the runtime's and wire's
	r.shares = share(serve.Limits, len(o.Settings.Clients), cmp.Or(o.Files, OpenFiles()))
	r.shares.guest = o.Files > 0
	r.shares.limit(limits)
	r.shares.tell(r.log)
	desk := wire.NewMux()
	r.registerControl(desk)
	r.desk = &wire.Server{Config: &wire.Config{Agent: o.Agent, Mux: desk, Logger: r.log}, MaxConns: maxOperators}
	return r
}

// Register serves clients on the connections whose Mux is m; conns are all of these. It is
// called once, before Open.
func (r *Role) Register(m *wire.Mux, conns func() iter.Seq[*wire.Conn]) {
	r.conns = conns
	r.tunnel.Register(m)
	r.registerControl(m)
	wire.Handle(m, kindFronts, func(context.Context, struct{}) (fronts, error) { return r.fronts(), nil })
}

// AltProtocol takes the direct channels of clients: it is set at the server of their connections.
func (r *Role) AltProtocol() *wire.AltProtocol { return r.tunnel.AltProtocol() }

// LinkBudget is the wire.Config.ConnBudget of clients' connections.
func (r *Role) LinkBudget() uint32 { return r.tunnel.Limits.LinkBudget() }

// Verify is a wire.Config.Verify that admits listed clients.
func (r *Role) Verify(c *wire.Conn, h *wire.Hello) error { return r.roster.Verify(c, h) }

// Collector returns the metrics of the role.
func (r *Role) Collector() prometheus.Collector { return tunnelstats.Server(r.tunnel) }

// Open reads the certificate and listens for visitors and operators, all of it or nothing.
func (r *Role) Open(ctx context.Context) (err error) {
	serve := &r.options.Settings.Serve
	if err := r.readCertificate(serve); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.closeListeners()
		}
	}()
	for _, door := range []struct {
		address, key string
		at           *net.Listener
	}{{serve.HTTP, "http", &r.http}, {serve.TLS, "tls", &r.tls}} {
		if door.address == "" {
			continue
		}
		if *door.at, err = listen.Listen(ctx, door.address, true); err != nil {
			return fmt.Errorf("tunnel: visitors (%s): %w", door.key, listen.OrElse(err, "--"+door.key))
		}
	}
	if r.tls != nil && !r.HTTPS() {
		r.log.Info("no certificate, so visitors by TLS reach sni tunnels alone, and those of http tunnels come by http://",
			"tls", r.tls.Addr().String(), "missing", "tls_crt and tls_key of the section serve")
	}
	return r.listenControl(serve)
}

// closeListeners closes listeners that are not served yet.
func (r *Role) closeListeners() {
	for _, open := range []net.Listener{r.http, r.tls, r.control} {
		if open != nil {
			_ = open.Close()
		}
	}
}

// readCertificate reads the one for visitors.
func (r *Role) readCertificate(serve *Serve) error {
	if serve.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(serve.Cert, serve.Key)
	if err != nil {
		return fmt.Errorf("tunnel: tls_crt and tls_key: %w", err)
	}
	r.visitor.Store(&pair)
	return nil
}

// listenControl opens the control socket. If the settings do not name one, the default one may fail
// to open.
func (r *Role) listenControl(serve *Serve) (err error) {
	path := cmp.Or(serve.Control, r.options.Control)
	if path == "" || path == noControl {
		return nil
	}
	if r.control, err = listen.Private(path); err == nil {
		return nil
	}
	if serve.Control != "" {
		return fmt.Errorf("tunnel: control socket: %w", err)
	}
	r.log.Warn("no control socket", "path", path, "error", err)
	return nil
}

// HTTP is where visitors connect, nil if nowhere.
func (r *Role) HTTP() net.Addr { return addressOf(r.http) }

// TLS is where visitors connect by TLS, nil if nowhere.
func (r *Role) TLS() net.Addr { return addressOf(r.tls) }

// Control is where operators of this machine connect, nil if nowhere.
func (r *Role) Control() net.Addr { return addressOf(r.control) }

func addressOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// AddTo adds the services of a role that is open, or is opened by a service before. They
// go behind those of the connections: in the end visitors are finished first, while
// clients are still there.
func (r *Role) AddTo(g *lifecycle.Group) {
	serve := &r.options.Settings.Serve
	g.Add(lifecycle.Service{Name: "tunnel control", Run: r.serveControl, Drain: r.desk.Shutdown})
	finish := func(context.Context) error { return r.tunnel.Close() }
	if serve.HTTP != "" {
		g.Add(lifecycle.Service{Name: "tunnel http", Drain: finish, Run: func(context.Context) error { return r.tunnel.Serve(r.http, nil) }})
	}
	if serve.TLS != "" {
		g.Add(lifecycle.Service{Name: "tunnel tls", Drain: finish, Run: func(context.Context) error { return r.tunnel.ServeTLS(r.tls, r.visitorTLS()) }})
	}
	g.Add(lifecycle.Service{Name: "tunnel settings", Run: r.watch})
}

// serveControl serves operators of this machine, if there is a socket.
func (r *Role) serveControl(context.Context) error {
	if r.control == nil {
		return nil
	}
	return r.desk.Serve(r.control)
}

// visitorTLS is that of visitors. Without a certificate they are passed through, and
// nothing else.
func (r *Role) visitorTLS() *tls.Config {
	if r.visitor.Load() == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return r.visitor.Load(), nil
	}}
}

// doors is the tunnel.Policy and tunnel.Namer of a list, at a server with these ways in.
type doors struct {
	*Roster
	serve *Serve
}

// Allow returns the list's decision, provided that visitors can reach the binding.
func (d doors) Allow(identity string, b tunnel.Binding) error {
	if b.Protocol == tunnel.SNI && d.serve.TLS == "" {
		return fmt.Errorf("%w: this server has no address for visitors by TLS (tls in its section serve, or --tls)", tunnel.ErrDenied)
	}
	return d.Roster.Allow(identity, b)
}

// hooks write the log of refused visitors and of connected clients.
func (r *Role) hooks() server.Hooks {
	access := &accessLog{log: r.log}
	hooks := server.Hooks{
		Connected: func(x server.Session) {
			r.log.Info("client connected", "client", x.Identity, "peer", x.Peer, "agent", x.Agent)
		},
		Disconnected: func(x server.Session) {
			r.log.Info("client gone", "client", x.Identity, "peer", x.Peer, "after", time.Since(x.Since).Round(time.Second))
		},
		Bound: func(who string, b tunnel.Binding) {
			if b.Group != "" {
				r.log.Info("bound", "client", who, "at", b.String(), "group", b.Group)
				return
			}
			r.log.Info("bound", "client", who, "at", b.String())
		},
		Refused:        access.refused,
		DirectFallback: access.directFallback,
	}
	if r.options.Settings.Serve.LogServed {
		hooks.Served = access.served
	}
	return hooks
}
