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
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/listen"
	"paddock/internal/process/keyid"
	"paddock/internal/process/lifecycle"
	"paddock/tunnel/server"
	"paddock/wire"
	"paddock/wire/wirestats"
)

// idle is the silence after which the peer is considered dead: wire's half a minute would be too
// long for waiting visitors.
const idle = 10 * time.Second

// returnWithin is the time over which the clients of a server that drains come back.
const returnWithin = 5 * time.Second

// ServerOptions configures a Server.
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
	// Reloaded is called after each of Hangups that was acted on. Nil: no call.
	Reloaded func()
	// Control is the path of the control socket if the settings name none, "" for none:
	// if another server has it, this one goes without.
	Control string
	// Files is how many files the role may have open, 0 for as many as the process.
	Files  int
	Agent  string // the name that the program gives of itself
	Logger *slog.Logger
}

// Server is the side that visitors reach, as a program: a Role on a link of its own. Its
// methods are called after Open.
type Server struct {
	*Role
	key     *keyid.Key
	wire    *wire.Server
	link    net.Listener
	admin   *Admin // nil: none
	tickets *handshake.Tickets
}

// OpenServer checks the settings, reads the key, and listens, so that every fault is reported
// before anything runs.
func OpenServer(ctx context.Context, o ServerOptions) (*Server, error) {
	serve := &o.Settings.Serve
	s := &Server{Role: NewRole(o)}
	err := o.Settings.exposed()
	if err != nil {
		return nil, err
	}
	if s.key, err = serve.key(o.Key); err != nil {
		return nil, err
	}
	s.tickets = handshake.OpenTickets(serve.keyFile(o.Key)+".tickets", s.log)
	mux := wire.NewMux()
	s.wire = &wire.Server{Pauses: true, Config: &wire.Config{
		Agent: o.Agent, Mux: mux, Idle: idle, Verify: s.Verify, Authorize: s.Authorize, Logger: s.log,
		TLS:         s.linkTLS(serve),
		RetryJitter: returnWithin, ConnBudget: s.LinkBudget(),
	}, AltProtocol: s.AltProtocol()}
	s.shares.bound(s.wire, &s.tunnel.Limits)
	s.Register(mux, s.wire.All)
	if len(o.Settings.Clients) == 0 {
		s.log.Warn("no client can connect, since none is listed: add tunnel.clients to the file, or set --allow ID=HOST, where ID is printed by \"paddock tunnel id\" at the client")
	}
	return s, s.listen(ctx, serve)
}

// linkTLS is that of clients, nil without.
func (s *Server) linkTLS(serve *Serve) *tls.Config {
	if serve.Plaintext {
		return nil
	}
	config := &tls.Config{Certificates: []tls.Certificate{s.key.Certificate}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13}
	s.tickets.Install(config)
	return config
}

// exposed returns an error if the settings would admit strangers.
func (s *Settings) exposed() error {
	serve := &s.Serve
	if serve.Plaintext && listen.Check(serve.Listen, false) != nil {
		return fmt.Errorf("tunnel: plaintext is for this machine alone, not for %s", serve.Listen)
	}
	if err := listen.Check(serve.Listen, false); err != nil {
		if !errors.Is(err, listen.ErrExposed) {
			return err
		}
		if len(s.Clients) == 0 {
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

// listen opens every configured listener, or none.
func (s *Server) listen(ctx context.Context, serve *Serve) (err error) {
	if err = s.Open(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.closeListeners()
			if s.link != nil {
				_ = s.link.Close()
			}
		}
	}()
	if s.link, err = listen.Listen(ctx, serve.Listen, true); err != nil {
		return fmt.Errorf("tunnel: clients (listen): %w", err)
	}
	if serve.Admin == "" {
		return nil
	}
	if s.admin, err = openAdmin(ctx, serve.Admin, serve.Token, s.log, s.status, s.Collector(), wirestats.Collector(s.wire), wirestats.Server(s.wire)); err != nil {
		return fmt.Errorf("tunnel: admin: %w", err)
	}
	s.show(s.admin.mux)
	return nil
}

// serverStatus is the answer of /status.
type serverStatus struct {
	ID     keyid.ID         `json:"id"`
	Tunnel server.Stats     `json:"tunnel"`
	Wire   wire.ServerStats `json:"wire"`
	Link   map[string]int64 `json:"link"` // counters of wire by name
}

func (s *Server) status() any {
	return serverStatus{s.key.ID, s.tunnel.Stats(), s.wire.Stats(), wirestats.Total(s.wire).Map()}
}

// Summary returns a sentence about the running server.
func (s *Server) Summary() string {
	stats := s.tunnel.Stats()
	return fmt.Sprintf("ready: %d clients connected, %d names held, %d requests under way", stats.Sessions, stats.Names, stats.Requests)
}

// ID is how clients know the server.
func (s *Server) ID() keyid.ID { return s.key.ID }

// Link is where clients connect.
func (s *Server) Link() net.Addr { return s.link.Addr() }

// Admin is where /metrics and /status are, nil if nowhere.
func (s *Server) Admin() net.Addr {
	if s.admin == nil {
		return nil
	}
	return s.admin.Addr()
}

// AddTo adds the server's services. At the end visitors are finished first, while clients are still
// connected; then clients are asked to come back later.
func (s *Server) AddTo(g *lifecycle.Group) {
	if s.admin != nil {
		g.Add(s.admin.service)
	}
	g.Add(lifecycle.Service{
		Name:  "tunnel clients",
		Run:   func(context.Context) error { return s.wire.Serve(s.link) },
		Drain: s.wire.Shutdown,
	})
	s.Role.AddTo(g)
	g.Add(lifecycle.Service{Name: "tunnel tickets", Run: s.tickets.Run})
	g.Add(lifecycle.GiveBack("tunnel memory", s.tunnel.UnderWay))
}
