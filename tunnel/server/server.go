// Package server is the public side of a tunnel: it accepts visitors and forwards them to connected
// clients. Package paddock/tunnel explains the whole.
//
// A [Server] serves the clients of a wire.Server, or of any wire connection whose Mux it is
// registered with. Visitors come by Serve and ServeTLS, by ServeHTTP, and by the addresses of TCP
// tunnels.
//
// The way of a visitor through the files: front.go, tls.go and tcp.go accept connections; h1.go
// and nethttp.go read requests; admit.go and admission.go take permits; endpoint.go, choice.go and
// links.go find the client and one of its connections; exchange.go and raw.go forward.
// registry.go and session.go have the connected clients and their bindings.
package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"

	"paddock/internal/netio/handshake"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// Hooks are called on events. They are called outside of locks and must not block; nil hooks are
// not called.
type Hooks struct {
	Connected, Disconnected func(Session)
	Bound, Unbound          func(identity string, b tunnel.Binding)
	Refused                 func(Refusal)
	// Served is called for each answered request, and for each relayed connection at its end.
	Served func(Served)
	// DirectFallback is called with each visitor of a direct tunnel that the link carries.
	DirectFallback func(DirectFallback)
	// BindRefused is called for each tunnel that was refused to a client.
	BindRefused func(identity string, b tunnel.Binding, peer string, err error)
}

// Server is the side that visitors reach. Its fields are set before it is used; its
// methods may be called by any number of goroutines. The zero value denies all.
//
// It serves the clients of a wire.Server, or of any wire connection whose Mux it has
// been registered with, and visitors by ServeHTTP and at the addresses that clients bind.
type Server struct {
	// Policy decides which bindings clients may have; nil allows none.
	Policy tunnel.Policy
	// Identify names a client; nil takes the name of wire.Identity and, without one, the session of
	// its HELLO. A client with the same identity takes over.
	Identify func(*wire.Conn) string
	Limits   tunnel.Limits
	// Admission bounds the current work; nil does so by Limits.
	Admission Admission
	// MaxInflight bounds the current work of all tunnels of an identity together, 0 for as much as
	// Admission admits. It is called for each visitor and must not block; nil is 0 for every
	// identity. It is set before Register.
	MaxInflight func(identity string) int
	Hooks       Hooks
	// TrustedProxies may send the addresses of the visitors they forward.
	TrustedProxies []netip.Prefix
	// ProxyProtocolFrom lists the networks of proxies that send the PROXY protocol, version 1 or 2.
	// At Serve, ServeTLS and the addresses of TCP tunnels, a connection from there must begin with
	// its header, or is closed, and the visitor's address is the one in the header. From other
	// addresses no header is read.
	ProxyProtocolFrom []netip.Prefix
	// NoHTTP2 restricts Serve and ServeTLS to HTTP/1.1: TLS offers nothing else, and a visitor that
	// begins with HTTP/2 is told so.
	NoHTTP2 bool
	// Logger receives errors; nil is slog.Default.
	Logger *slog.Logger

	prepare      sync.Once
	limits       tunnel.Limits
	admission    Admission
	log          *slog.Logger
	ctx          context.Context // ends with Close
	cancel       context.CancelFunc
	tasks        sync.WaitGroup
	registry     registry
	refusals     [reasons]atomic.Uint64
	served       atomic.Uint64
	cancelled    atomic.Uint64
	takeovers    atomic.Uint64
	hints        atomic.Uint64
	resent       atomic.Uint64      // exchanges, to another member or over another connection
	acceptErrors atomic.Uint64      // connections of visitors that could not be accepted
	visitorConns connCounts         // of the fronts
	rawConns     connCounts         // of TCP tunnels
	handshakes   *handshake.Limiter // of visitors in the handshake of TLS
	directs      ticketTable
}

func (s *Server) init() {
	s.prepare.Do(func() {
		s.limits = s.Limits.WithDefaults()
		if s.admission = s.Admission; s.admission == nil {
			s.admission = newGate(&s.limits)
		}
		s.log = cmp.Or(s.Logger, slog.Default())
		s.handshakes = handshake.NewLimiter(runtime.GOMAXPROCS(0), maxHandshake, 0)
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.registry.init(s)
	})
}

// Register adds the handlers of the tunnel to m. The clients of connections with this Mux may then
// bind tunnels.
func (s *Server) Register(m *wire.Mux) {
	s.init()
	wire.Handle(m, message.KindBind, s.bind)
	wire.Handle(m, message.KindUnbind, s.unbind)
	wire.Handle(m, message.KindTry, s.try)
	wire.HandlePost(m, message.KindHint, s.hint, wire.Inline())
}

// Close closes the server's listeners and forgets all names. The connections of clients belong to
// the program that has accepted them. It waits for the goroutines of the server.
func (s *Server) Close() error {
	s.init()
	s.registry.mu.Lock()
	s.registry.closed = true
	sessions := s.registry.sessions
	s.registry.sessions = map[string]*session{}
	for c := range s.registry.leases() {
		s.registry.drop(c)
	}
	s.registry.mu.Unlock()
	s.cancel()
	for _, x := range sessions {
		s.registry.disconnected(x)
	}
	s.tasks.Wait()
	return nil
}

// identify names a client.
func (s *Server) identify(c *wire.Conn) string {
	if s.Identify != nil {
		return s.Identify(c)
	}
	if who, ok := c.Identity().(wire.Identity); ok {
		return who.Name
	}
	if peer := c.Peer(); peer != nil && peer.Session != nil {
		return "session-" + hex.EncodeToString(peer.Session.ID[:])
	}
	return c.Name()
}

// allowed asks the policy.
func (s *Server) allowed(identity string, b tunnel.Binding) error {
	if s.Policy == nil {
		return tunnel.ErrDenied
	}
	return s.Policy.Allow(identity, b)
}

// bind serves tunnel.bind.
func (s *Server) bind(ctx context.Context, r message.BindRequest) (a message.BindAnswer, err error) {
	conn := wire.ConnFrom(ctx)
	if err := r.Check(); err != nil {
		return a, err
	}
	x, err := s.registry.session(conn, &r)
	if err != nil {
		return a, err
	}
	for i := range r.Tunnels {
		a.Results = append(a.Results, s.bindOne(ctx, x, conn, &r.Tunnels[i]))
	}
	s.registry.settle(x)
	a.Hints, a.Groups = true, true
	return a, nil
}

// bindOne binds one tunnel, or returns the refusal.
func (s *Server) bindOne(ctx context.Context, x *session, conn *wire.Conn, ask *message.BindAsk) message.BindResult {
	b, err := ask.Binding()
	code := wire.InvalidArgument
	var c *lease
	if err == nil {
		code, err = s.anyName(x.identity, ask.ID, &b, func() (code wire.Code, err error) {
			c, code, err = s.grant(ctx, x, ask, b)
			return code, err
		})
	}
	if err != nil {
		s.log.Warn("tunnel: not bound", "identity", x.identity, "at", b.String(), "peer", conn.RemoteAddr().String(), "error", err)
		if s.Hooks.BindRefused != nil {
			s.Hooks.BindRefused(x.identity, b, conn.RemoteAddr().String(), err)
		}
		return message.BindResult{ID: ask.ID, Code: code, Reason: err.Error()}
	}
	if s.Hooks.Bound != nil {
		s.Hooks.Bound(x.identity, b)
	}
	return message.BindResult{ID: ask.ID, Where: c.where, Direct: ask.Direct && s.directs.open.Load()}
}

// grant gives a session a binding that the policy allows and no other client holds.
func (s *Server) grant(ctx context.Context, x *session, ask *message.BindAsk, b tunnel.Binding) (c *lease, code wire.Code, err error) {
	if err := s.allowed(x.identity, b); err != nil {
		return nil, wire.PermissionDenied, err
	}
	c, err = s.registry.take(ctx, x, ask, b)
	return c, codeOf(err), err
}

// codeOf returns the code for a tunnel that the client may have, and does not get.
func codeOf(err error) wire.Code {
	switch {
	case errors.Is(err, tunnel.ErrNameHeld):
		return wire.AlreadyExists
	case errors.Is(err, tunnel.ErrOverloaded):
		return wire.ResourceExhausted
	}
	return wire.Unavailable
}

// unbind serves tunnel.unbind. A tunnel that is not bound is no error.
func (s *Server) unbind(ctx context.Context, r message.UnbindRequest) (message.UnbindAnswer, error) {
	conn := wire.ConnFrom(ctx)
	identity := s.identify(conn)
	var gone []*lease
	s.registry.mu.Lock()
	if x := s.registry.sessions[identity]; x != nil && x.has(conn) {
		for _, id := range r.IDs {
			if c := x.leases[id]; c != nil {
				delete(x.leases, id)
				s.registry.drop(c)
				gone = append(gone, c)
			}
		}
	}
	s.registry.mu.Unlock()
	s.unbound(gone)
	return message.UnbindAnswer{}, nil
}

func (s *Server) unbound(leases []*lease) {
	if s.Hooks.Unbound == nil {
		return
	}
	for _, c := range leases {
		s.Hooks.Unbound(c.identity, c.at)
	}
}

// listenTCP opens the address of a TCP tunnel.
func listenTCP(address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", address)
}
