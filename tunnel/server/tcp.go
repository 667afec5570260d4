package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"paddock/internal/netio/hostname"
	"paddock/internal/netio/listen"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// acceptTCP is the goroutine of a TCP tunnel's listener; the endpoint's end closes it.
func (s *Server) acceptTCP(p *endpoint) {
	defer s.tasks.Done()
	s.accept(&rawVisitors{p.listener, s, p}, &s.tasks, func(conn net.Conn) { s.serveTCP(p, conn) })
}

// rawVisitors bounds the visitors of all TCP tunnels together, before anything is made for
// them: they leave descriptors to the fronts and to clients.
type rawVisitors struct {
	net.Listener
	s *Server
	p *endpoint
}

// Accept resets connections over the bound.
func (v *rawVisitors) Accept() (net.Conn, error) {
	for {
		conn, err := v.Listener.Accept()
		if err != nil {
			return nil, err
		}
		most := v.s.limits.RawVisitors
		if err = v.s.rawConns.enter(netip.Prefix{}, most, most); err == nil {
			return conn, nil
		}
		v.s.refuseRaw(v.p, v.p.sole(), conn, &message.Channel{}, err)
		_ = conn.Close()
	}
}

// accept starts a goroutine of the group for each connection of l, until l is closed.
func (s *Server) accept(l net.Listener, group *sync.WaitGroup, serve func(net.Conn)) {
	_ = listen.Accept(s.ctx, l, func(conn net.Conn) { group.Go(func() { serve(conn) }) }, func(err error, pause time.Duration) error {
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		s.acceptErrors.Add(1)
		s.log.Warn("tunnel: cannot accept", "address", l.Addr().String(), "error", err, "pause", pause)
		return nil
	})
}

// serveTCP is the goroutine of a visitor of a TCP tunnel.
func (s *Server) serveTCP(p *endpoint, conn net.Conn) {
	defer s.rawConns.leave(netip.Prefix{})
	defer conn.Close()
	known, first, err := s.introduced(conn)
	switch {
	case err == nil:
		s.carryRaw(p, known, &message.Channel{Rest: first})
	case !errors.Is(err, io.EOF):
		s.refuseRaw(p, p.sole(), conn, &message.Channel{}, err)
	}
}

// carryRaw relays a visitor's connection as it is, after the opening message open.
func (s *Server) carryRaw(p *endpoint, conn net.Conn, open *message.Channel) {
	began := time.Now()
	open.Visitor, open.Local = relay.AddrPort(conn.RemoteAddr()), relay.AddrPort(conn.LocalAddr())
	r := rawVisit{s: s, endpoint: p, open: open}
	err := r.enter(s.ctx)
	if err != nil {
		s.refuseRaw(p, p.sole(), conn, open, err)
		return
	}
	release := r.permit.Release
	if r.owner.direct && s.directs.open.Load() {
		carried, rest := s.carryDirect(&r.assignment, conn, open, release)
		if carried {
			return
		}
		release = rest
	}
	st, err := r.dial(s.ctx, release)
	if err != nil {
		s.refuseRaw(p, r.lease.identity, conn, open, err)
		return
	}
	to := r.remote(s.ctx, st)
	stop := context.AfterFunc(s.ctx, func() { _ = to.Reset(wire.Unavailable) })
	defer stop()
	var over relay.Transfer
	err = relay.SpliceCounted(conn, nil, to, s.limits.Linger, &over)
	if again, ok := to.(*rawRetry); ok {
		st = again.stream().Stream
	}
	s.carried(r.lease, open, &over, st, began, false)
	if err == nil {
		s.served.Add(1)
	} else {
		s.cancelled.Add(1)
		s.log.Debug("tunnel: raw connection", "address", p.where, "error", err)
	}
}

// refuseRaw reports a refused visitor to the hooks, and resets it: its protocol is unknown, so it
// cannot be told.
func (s *Server) refuseRaw(p *endpoint, identity string, conn net.Conn, open *message.Channel, err error) {
	p.refused.Add(1)
	s.refused(Refusal{
		Reason: reasonOf(s.ctx, err), Tunnel: p.where, Identity: identity, Peer: conn.RemoteAddr().String(), Host: string(open.Name), Err: err,
	})
	relay.ResetConn(conn)
}

// Dial connects to the service of a tunnel, as a visitor would from within the process:
// at is the address that a TCP tunnel has got, or a host of SNI.
// The same bounds and the same policy count. ctx bounds the wait for a permit and for a
// client that is away; that the service took no connection shows in the first Read. The
// connection has CloseWrite. Close of the Server does not end it.
func (s *Server) Dial(ctx context.Context, at string) (net.Conn, error) {
	s.init()
	s.registry.mu.Lock()
	p := s.registry.addresses[at]
	s.registry.mu.Unlock()
	open := &message.Channel{}
	if name, err := hostname.Normalise(at); p == nil && err == nil {
		p = s.registry.names.find(name, "")
		open.SNI, open.Name = true, []byte(name)
	}
	if p == nil {
		return nil, dialError(at, errors.New("no tunnel for raw connections is bound there"))
	}
	r := rawVisit{s: s, endpoint: p, open: open}
	if err := r.enter(ctx); err != nil {
		return nil, dialError(at, err)
	}
	st, err := r.dial(ctx, r.permit.Release)
	if err != nil {
		return nil, dialError(at, err)
	}
	return relay.NewRawConn(st, nil, relay.TunnelAddr(""), relay.TunnelAddr(p.where)), nil
}

func dialError(at string, err error) error {
	return &net.OpError{Op: "dial", Net: "tunnel", Addr: relay.TunnelAddr(at), Err: err}
}
