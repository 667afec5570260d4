package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"paddock/tunnel/internal/proxyproto"
	"paddock/tunnel/internal/relay"
)

// introductionTime is the time for a proxy's header: section 2 of the PROXY protocol requires it to
// allow for a lost packet.
const introductionTime = 3 * time.Second

// errIntroduction is wrapped by the error about a proxy without a valid header.
var errIntroduction = errors.New("tunnel: no header of the PROXY protocol")

// proxied is the connection of a visitor through a proxy that has named its address.
type proxied struct {
	net.Conn
	visitor, dialed net.Addr
}

func (c *proxied) RemoteAddr() net.Addr { return c.visitor }
func (c *proxied) LocalAddr() net.Addr  { return c.dialed }

// CloseWrite ends our half.
func (c *proxied) CloseWrite() error { return relay.CloseWrite(c.Conn) }

// NetConn returns the underlying connection.
func (c *proxied) NetConn() net.Conn { return c.Conn }

// introduces reports whether the connections from an address begin with a header of the PROXY
// protocol. From there one is required, and from anywhere else none is looked for: to guess
// would let visitors introduce themselves.
func (s *Server) introduces(a netip.Addr) bool { return within(s.ProxyProtocolFrom, a) }

// manyBehind reports whether an address stands for many visitors.
func (s *Server) manyBehind(a netip.Addr) bool { return s.trusts(a) || s.introduces(a) }

// within reports whether one of the networks has an address, which is of IPv4 where it can be;
// a network of these may be written as one of IPv6.
func within(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool {
		if p.Addr().Is4In6() && a.Is4() {
			return p.Contains(netip.AddrFrom16(a.As16()))
		}
		return p.Contains(a)
	})
}

// introduced reads the visitor's address from a connection if its peer is a trusted proxy. first
// holds the bytes that were read behind the header. The addresses of known are the visitor's and
// the one that it dialed, or the socket's if the proxy speaks for itself. The error is io.EOF if
// the proxy closed without a byte, as a health check does.
func (s *Server) introduced(conn net.Conn) (known net.Conn, first []byte, err error) {
	if !s.introduces(relay.AddrPort(conn.RemoteAddr()).Addr()) {
		return conn, nil, nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(introductionTime))
	stop := context.AfterFunc(s.ctx, func() { _ = conn.SetReadDeadline(relay.LongAgo) })
	h, first, err := readIntroduction(conn)
	if !stop() && err == nil {
		err = s.ctx.Err()
	}
	if err != nil {
		return conn, nil, err
	}
	_ = conn.SetReadDeadline(time.Time{})
	if !h.Source.IsValid() {
		return conn, first, nil
	}
	return &proxied{conn, net.TCPAddrFromAddrPort(h.Source), net.TCPAddrFromAddrPort(h.Destination)}, first, nil
}

// readIntroduction reads the header at the beginning of a connection, and the bytes that arrive
// with it; together at most proxyproto.MaxBytes.
func readIntroduction(conn net.Conn) (h proxyproto.Header, rest []byte, err error) {
	const usual = 256 // a header with the usual fields about TLS
	for b := make([]byte, 0, usual); ; {
		h, n, err := proxyproto.Parse(b)
		switch {
		case err != nil:
			return h, nil, fmt.Errorf("%w: %w", errIntroduction, err)
		case n > 0:
			return h, b[n:], nil
		case len(b) == cap(b):
			b = append(make([]byte, 0, proxyproto.MaxBytes), b...)
		}
		n, err = conn.Read(b[len(b):cap(b)])
		if b = b[:len(b)+n]; n > 0 {
			continue // an error comes again
		}
		switch {
		case errors.Is(err, io.EOF) && len(b) == 0:
			return h, nil, io.EOF
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		case err == nil:
			err = io.ErrNoProgress
		}
		return h, nil, fmt.Errorf("%w: %d bytes of one: %w", errIntroduction, len(b), err)
	}
}

// Bare returns the connection below the server's wrappers.
func (c *proxied) Bare() net.Conn { return c.Conn }
