package server

import (
	"context"
	"errors"
	"net"

	"paddock/internal/netio/hostname"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
)

// Dial connects to the service of a tunnel, as a visitor would from within the process:
// at is the address that a TCP tunnel has got, or a host of SNI.
// The same bounds and the same policy count. ctx bounds the wait for a permit and for a
// client that is away; that the service took no connection shows in the first Read. The
// connection has CloseWrite. Close of the Server does not end it.
func (s *Server) Dial(ctx context.Context, at string) (net.Conn, error) {
	s.init()
	s.mu.Lock()
	p := s.addresses[at]
	s.mu.Unlock()
	open := &message.Channel{}
	if name, err := hostname.Normalise(at); p == nil && err == nil {
		p = s.names.find(name, "")
		open.SNI, open.Name = true, []byte(name)
	}
	if p == nil {
		return nil, dialError(at, errors.New("no tunnel for raw connections is bound there"))
	}
	r := rawGuest{s: s, place: p, open: open}
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
