package wire

import (
	"net"
	"time"

	"paddock/internal/netio/nowait"
	"paddock/internal/wire/machine"
)

// AltProtocol is another protocol whose connections a Server accepts at its own listeners. The
// server recognizes them by their first byte or, over TLS, by the protocol's ALPN name. A
// connection counts as opening, under the deadline of opening, until Serve has returned.
//
// A server with an AltProtocol reads a connection's first byte before it sends anything.
type AltProtocol struct {
	// First is the first byte of a connection without TLS, also at a server with TLS. It
	// must differ from the first bytes of wire and of TLS. Only sockets are examined for it.
	First byte
	// ALPN is the name of the protocol over TLS.
	ALPN string
	// Serve reads the start of a connection, First included, and owns the connection from
	// then on, also when it returns an error; the server then counts a failed opening. socket
	// is the connection beneath TLS, or conn itself without TLS. Both carry the deadline of
	// opening, which Serve must clear. Serve must not block on anything but the peer.
	Serve func(conn, socket net.Conn) error
}

// begins reports whether the first byte of nc is that of the protocol. It does not consume the
// byte. It returns false if no byte arrives in time.
func (a *AltProtocol) begins(nc net.Conn) bool {
	raw := nowait.Raw(nc)
	if a == nil || a.First == 0 || raw == nil {
		return false
	}
	_ = nc.SetReadDeadline(time.Now().Add(machine.HelloTimeout))
	defer func() { _ = nc.SetReadDeadline(time.Time{}) }()
	var first [1]byte
	n := 0
	err := raw.Read(func(fd uintptr) (done bool) {
		n, done = nowait.Peek(fd, first[:])
		return done
	})
	return err == nil && n == 1 && first[0] == a.First
}

// agreed reports whether the TLS handshake has selected the protocol.
func (a *AltProtocol) agreed(s *secured) bool {
	return a != nil && a.ALPN != "" && s.ConnectionState().NegotiatedProtocol == a.ALPN
}

// take passes a connection to Serve.
func (a *AltProtocol) take(conn, socket net.Conn) error {
	_ = socket.SetDeadline(time.Now().Add(machine.HelloTimeout))
	return a.Serve(conn, socket)
}

// names returns the ALPN names that a server offers in addition to that of wire.
func (a *AltProtocol) names() []string {
	if a == nil || a.ALPN == "" {
		return nil
	}
	return []string{a.ALPN}
}
