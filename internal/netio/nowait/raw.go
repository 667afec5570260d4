package nowait

import (
	"net"
	"syscall"
)

// Raw gives access to the socket of a connection, for the functions of this package.
// It is nil if the connection has no socket of its own, as in memory or under TLS, or
// the system no calls that never wait; then the methods of net.Conn have to do.
func Raw(conn net.Conn) syscall.RawConn {
	direct, ok := conn.(syscall.Conn)
	if !able || !ok {
		return nil
	}
	raw, err := direct.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
