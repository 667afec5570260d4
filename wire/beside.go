package wire

import (
	"net"
	"time"

	"paddock/internal/netio/nowait"
)

// Beside is another protocol whose connections a Server takes where it takes its own. They
// are told apart by their first byte, or over TLS by its name. Until Serve has returned
// they count as opening, and have the time of that.
//
// A server that has one looks at what comes first before it says anything.
type Beside struct {
	// First begins a connection without TLS, also at a server with TLS. It is neither
	// wire's nor that of TLS. It is found on sockets alone.
	First byte
	// ALPN is its name over TLS.
	ALPN string
	// Serve judges how a connection begins, First included, and owns it from now on, also
	// when it fails: then it is one that did not come to be. socket is what lies
	// beneath TLS, else conn itself. Both have the deadline of opening, which Serve takes
	// away. It waits for nobody but the peer.
	Serve func(conn, socket net.Conn) error
}

// begins says whether what comes is of the protocol, and takes none of it. What does not
// come in time is not.
func (b *Beside) begins(nc net.Conn) bool {
	raw := nowait.Raw(nc)
	if b == nil || b.First == 0 || raw == nil {
		return false
	}
	_ = nc.SetReadDeadline(time.Now().Add(helloTimeout))
	defer func() { _ = nc.SetReadDeadline(time.Time{}) }()
	var first [1]byte
	n := 0
	err := raw.Read(func(fd uintptr) (done bool) {
		n, done = nowait.Peek(fd, first[:])
		return done
	})
	return err == nil && n == 1 && first[0] == b.First
}

// agreed says whether the peer has named the protocol in TLS.
func (b *Beside) agreed(s *secured) bool {
	return b != nil && b.ALPN != "" && s.ConnectionState().NegotiatedProtocol == b.ALPN
}

// take hands a connection over.
func (b *Beside) take(conn, socket net.Conn) error {
	_ = socket.SetDeadline(time.Now().Add(helloTimeout))
	return b.Serve(conn, socket)
}

// names are those that a server agrees to besides wire's.
func (b *Beside) names() []string {
	if b == nil || b.ALPN == "" {
		return nil
	}
	return []string{b.ALPN}
}
