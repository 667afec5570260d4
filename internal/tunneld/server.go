package tunneld

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"time"

	"paddock/internal/keyid"
	"paddock/internal/lifecycle"
	"paddock/internal/listen"
	"paddock/tunnel"
	"paddock/tunnel/tunnelstats"
	"paddock/wire"
	"paddock/wire/wirestats"
)

// idle is the silence after which the other side is dead: half a minute of wire would
// be too long for visitors who wait.
const idle = 10 * time.Second

// maxOperators bounds the connections of the control socket.
const maxOperators = 16

// returnWithin is the time over which the clients of a server that drains come back.
const returnWithin = 5 * time.Second

// ServerOptions are what a Server is made of.
type ServerOptions struct {
	Settings *Settings
	// Key is the file of the server's key if the settings name none; it is made if there
	// is none.
	Key string
	// File is where the settings come from, "" if from nowhere. It is watched, and read by
	// Reload, which a signal causes at once.
	File    string
	Reload  func() (*Settings, error)
	Hangups <-chan os.Signal
	// Control is the path of the control socket if the settings name none, "" for none:
	// if another server has it, this one goes without.
	Control string
	Agent   string // what the program calls itself
	Logger  *slog.Logger
}

// Server is the side that visitors reach, as a program: it listens for clients over
// wire and for visitors over HTTP. Its methods are called after Open.
type Server struct {
	options ServerOptions
	log     *slog.Logger
	key     *keyid.Key
	roster  *Roster
	tunnel  *tunnel.Server
	wire    *wire.Server
	visitor atomic.Pointer[tls.Certificate] // for visitors, nil without TLS
	link    net.Listener
	http    net.Listener // nil: none
	tls     net.Listener // nil: none
	control net.Listener // nil: none
	desk    *wire.Server // of operators at control
	admin   *Admin       // nil: none
	tickets *tickets
	pauses  *pauses
}

// OpenServer checks the settings, reads the key, and listens, so that whatever is wrong is
// told before anything runs.
func OpenServer(ctx context.Context, o ServerOptions) (*Server, error) {
	serve := &o.Settings.Serve
	s := &Server{options: o, log: o.Logger, roster: NewRoster(o.Settings.Clients)}
	if err := s.check(); err != nil {
		return nil, err
	}
	var err error
	if s.key, err = serve.key(o.Key); err != nil {
		return nil, err
	}
	s.tickets = openTickets(serve.keyFile(o.Key)+".tickets", s.log)
	if err := s.readCertificate(serve); err != nil {
		return nil, err
	}
	s.tunnel = &tunnel.Server{
		Policy: s.roster, Identify: Identify, MaxInflight: s.roster.MaxInflight, TrustedProxies: serve.Trusted, Logger: s.log,
		Limits: tunnel.Limits{Lease: serve.Lease, Bytes: serve.Budget * 3 / 8}, // the rest is the runtime's and wire's
		Hooks:  s.hooks(),
	}
	mux, desk := wire.NewMux(), wire.NewMux()
	s.tunnel.Register(mux)
	s.registerControl(mux)
	s.registerControl(desk)
	wire.Handle(mux, kindFronts, func(context.Context, struct{}) (fronts, error) { return s.fronts(), nil })
	s.pauses = newPauses()
	s.wire = &wire.Server{Failed: s.pauses.failed, Config: &wire.Config{
		Agent: o.Agent, Mux: mux, Idle: idle, Verify: s.verify, Authorize: s.authorize, Logger: s.log,
		TLS:         s.linkTLS(serve),
		RetryJitter: returnWithin,
	}}
	s.desk = &wire.Server{Config: &wire.Config{Agent: o.Agent, Mux: desk, Logger: s.log}, MaxConns: maxOperators}
	return s, s.listen(ctx, serve)
}

// verify lets in who is listed, and forgives his address what came from it before.
func (s *Server) verify(c *wire.Conn, h *wire.Hello) error {
	err := s.roster.Verify(c, h)
	if err == nil {
		s.pauses.forgive(c.RemoteAddr())
	}
	return err
}

// linkTLS is that of clients, nil without.
func (s *Server) linkTLS(serve *Serve) *tls.Config {
	if serve.Plaintext {
		return nil
	}
	config := &tls.Config{Certificates: []tls.Certificate{s.key.Certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	s.tickets.install(config)
	return config
}

// check refuses to be reachable for strangers.
func (s *Server) check() error {
	serve := &s.options.Settings.Serve
	if serve.Plaintext && listen.Check(serve.Listen, false) != nil {
		return fmt.Errorf("tunnel: plaintext is for this machine alone, not for %s", serve.Listen)
	}
	if err := listen.Check(serve.Listen, false); err != nil {
		if !errors.Is(err, listen.ErrExposed) {
			return err
		}
		if len(s.options.Settings.Clients) == 0 {
			return fmt.Errorf("tunnel: refusing to listen on %s: no clients are configured; add tunnel.clients or listen on 127.0.0.1", serve.Listen)
		}
	}
	return nil
}

// key is the one by which clients know the server: its own, else that of the
// certificate, else the one in file.
func (s *Serve) key(file string) (*keyid.Key, error) {
	if s.Identity == "" && s.Cert != "" {
		return keyid.LoadPair(s.Cert, s.Key)
	}
	key, _, err := keyid.LoadOrMake(s.keyFile(file))
	return key, err
}

// keyFile is where that key is; file is as in key.
func (s *Serve) keyFile(file string) string {
	if s.Identity == "" && s.Cert != "" {
		return s.Key
	}
	return cmp.Or(s.Identity, file)
}

// readCertificate reads the one for visitors.
func (s *Server) readCertificate(serve *Serve) error {
	if serve.Cert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(serve.Cert, serve.Key)
	if err == nil {
		s.visitor.Store(&pair)
	}
	return err
}

// listen opens what is configured, all of it or nothing.
func (s *Server) listen(ctx context.Context, serve *Serve) (err error) {
	defer func() {
		if err == nil {
			return
		}
		for _, open := range []net.Listener{s.link, s.http, s.tls} {
			if open != nil {
				_ = open.Close()
			}
		}
		if s.admin != nil {
			_ = s.admin.listener.Close()
		}
	}()
	for _, door := range []struct {
		address string
		at      *net.Listener
	}{{serve.Listen, &s.link}, {serve.HTTP, &s.http}, {serve.TLS, &s.tls}} {
		if door.address == "" {
			continue
		}
		if *door.at, err = listen.Listen(ctx, door.address, true); err != nil {
			return fmt.Errorf("tunnel: %w", err)
		}
	}
	if serve.Admin != "" {
		if s.admin, err = openAdmin(ctx, serve.Admin, serve.Token, s.log, s.status, tunnelstats.Server(s.tunnel), wirestats.Collector(s.wire)); err != nil {
			return fmt.Errorf("tunnel: %w", err)
		}
	}
	return s.listenControl(serve)
}

// serverStatus is the answer of /status.
type serverStatus struct {
	ID     keyid.ID           `json:"id"`
	Tunnel tunnel.ServerStats `json:"tunnel"`
	Wire   wire.ServerStats   `json:"wire"`
	Link   map[string]int64   `json:"link"` // counters of wire by name
}

func (s *Server) status() any {
	return serverStatus{s.key.ID, s.tunnel.Stats(), s.wire.Stats(), wirestats.Total(s.wire).Map()}
}

// listenControl opens the control socket. One that nobody has asked for may be missing.
func (s *Server) listenControl(serve *Serve) (err error) {
	path := cmp.Or(serve.Control, s.options.Control)
	if path == "" || path == noControl {
		return nil
	}
	if s.control, err = listen.Private(path); err == nil {
		return nil
	}
	if serve.Control != "" {
		return fmt.Errorf("tunnel: control socket: %w", err)
	}
	s.log.Warn("no control socket", "path", path, "error", err)
	return nil
}

// ID is how clients know the server.
func (s *Server) ID() keyid.ID { return s.key.ID }

// Link is where clients connect.
func (s *Server) Link() net.Addr { return s.link.Addr() }

// HTTP is where visitors connect, nil if nowhere.
func (s *Server) HTTP() net.Addr { return addressOf(s.http) }

// TLS is where visitors connect by TLS, nil if nowhere.
func (s *Server) TLS() net.Addr { return addressOf(s.tls) }

// Admin is where /metrics and /status are, nil if nowhere.
func (s *Server) Admin() net.Addr {
	if s.admin == nil {
		return nil
	}
	return s.admin.Addr()
}

// Control is where operators of this machine connect, nil if nowhere.
func (s *Server) Control() net.Addr { return addressOf(s.control) }

func addressOf(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// AddTo adds the server's services. In the end visitors are finished first, while
// clients are still there; then clients are told to come back later.
func (s *Server) AddTo(g *lifecycle.Group) {
	if s.admin != nil {
		s.admin.addTo(g)
	}
	if s.control != nil {
		g.Add(lifecycle.Service{
			Name: "tunnel control", Drain: s.desk.Shutdown,
			Run: func(context.Context) error { return s.desk.Serve(s.control) },
		})
	}
	g.Add(lifecycle.Service{
		Name:  "tunnel clients",
		Run:   func(context.Context) error { return s.wire.Serve(&pausing{s.link, s.pauses}) },
		Drain: s.wire.Shutdown,
	})
	finish := func(context.Context) error { return s.tunnel.Close() }
	if s.http != nil {
		g.Add(lifecycle.Service{Name: "tunnel http", Drain: finish, Run: func(context.Context) error { return s.tunnel.Serve(s.http, nil) }})
	}
	if s.tls != nil {
		var config *tls.Config // without a certificate visitors are passed through, and nothing else
		if s.visitor.Load() != nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				return s.visitor.Load(), nil
			}}
		}
		g.Add(lifecycle.Service{Name: "tunnel tls", Drain: finish, Run: func(context.Context) error { return s.tunnel.ServeTLS(s.tls, config) }})
	}
	g.Add(lifecycle.Service{Name: "tunnel settings", Run: s.watch})
	g.Add(lifecycle.Service{Name: "tunnel tickets", Run: s.tickets.run})
}

// hooks write the log of who was refused what, and who came.
func (s *Server) hooks() tunnel.Hooks {
	return tunnel.Hooks{
		Connected: func(x tunnel.Session) {
			s.log.Info("client connected", "client", x.Identity, "peer", x.Peer, "agent", x.Agent)
		},
		Disconnected: func(x tunnel.Session) {
			s.log.Info("client gone", "client", x.Identity, "peer", x.Peer, "after", time.Since(x.Since).Round(time.Second))
		},
		Bound:   func(who string, b tunnel.Binding) { s.log.Info("bound", "client", who, "at", b.String()) },
		Refused: (&accessLog{log: s.log}).refused,
	}
}
