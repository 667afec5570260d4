package relay

import (
	"crypto/tls"
	"net"
	"net/netip"
)

// A socket ends in two halves, each with a FIN, or at once with a reset: truncated data must not
// look complete to its reader.

// CloseWrite ends our half, of a connection that has halves.
func CloseWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ResetConn closes a connection in a way that cannot be taken for a clean end. For TLS it closes
// the underlying socket: an alert would mark the end as intended.
func ResetConn(conn net.Conn) {
	if socket, ok := Innermost(conn).(interface{ SetLinger(sec int) error }); ok {
		_ = socket.SetLinger(0)
	}
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}

// Innermost returns the connection below TLS, and below other wrappers with NetConn.
func Innermost(conn net.Conn) net.Conn {
	for {
		over, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = over.NetConn()
	}
}

// SocketOf returns the connection whose socket is read and written without waiting: the time limit
// stall matters only to calls that wait.
func SocketOf(conn net.Conn) net.Conn {
	for {
		over, ok := conn.(interface{ Bare() net.Conn })
		if !ok {
			return conn
		}
		conn = over.Bare()
	}
}

// OverTLS reports whether a connection is over TLS.
func OverTLS(conn net.Conn) bool {
	_, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// AddrPort is an address without a zone, the zero value if it is not of TCP.
func AddrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
}
