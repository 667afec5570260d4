package tunnel

import (
	"crypto/tls"
	"net"
)

// A socket ends in two halves, each with a FIN, or all at once with a reset: what was cut
// must not look whole to who reads it.

// closeWrite ends our half, of a connection that has halves.
func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// resetConn closes a connection in a way that does not look like an end. Of TLS it closes the
// socket beneath: an alert would say that the end is meant.
func resetConn(conn net.Conn) {
	if socket, ok := innermost(conn).(interface{ SetLinger(sec int) error }); ok {
		_ = socket.SetLinger(0)
	}
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.Close()
}
