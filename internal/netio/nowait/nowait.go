// Package nowait reads from and writes to sockets without waiting, one system call
// each: for those who wait for a socket by syscall.RawConn, and then want to know
// from one call both what has come and whether another would be in vain.
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

// Writer writes to a socket what it takes at once. The scheduler is not told of that: of a
// thread that it knows to be in a system call it soon takes the processor away, which costs
// more than most writes do. It serves one goroutine at a time.
type Writer struct {
	raw  syscall.RawConn
	send func(fd uintptr) bool // made once

	b   []byte // what send writes
	n   int
	err error
}

// NewWriter is nil for a connection that has to be written to in another way.
func NewWriter(conn net.Conn) *Writer {
	raw := Raw(conn)
	if raw == nil {
		return nil
	}
	w := &Writer{raw: raw}
	w.send = func(fd uintptr) bool {
		w.n, w.err = Send(fd, w.b)
		return true // RawConn.Write is not to wait
	}
	return w
}

// TryWrite writes p[:n]; without an error the rest has to wait. The connection may also be
// closed, or its write deadline over.
func (w *Writer) TryWrite(p []byte) (n int, err error) {
	w.b, w.n, w.err = p, 0, nil
	if err := w.raw.Write(w.send); err != nil {
		return 0, err
	}
	w.b = nil
	return w.n, w.err
}

// Silent reports whether nothing has arrived on a socket, not even the end of the stream. It
// consumes nothing.
func Silent(fd uintptr) bool {
	var b [1]byte
	_, ok := Peek(fd, b[:])
	return !ok
}
