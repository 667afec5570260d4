// Package nowait reads from and writes to sockets without blocking, with one system call each. Its
// callers wait for a socket with syscall.RawConn, and learn from the one call both the bytes and
// whether another call could return more.
package nowait

import (
	"net"
	"syscall"
)

// Raw returns access to the socket of a connection, for the functions of this package. It returns
// nil if the connection has no socket of its own, as in memory or under TLS, or if the system lacks
// calls that never block; then the caller uses the methods of net.Conn.
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

// Writer writes to a socket as many bytes as the kernel takes at once. It does not announce the
// system call to the scheduler: the scheduler soon takes the processor from a thread in a known
// system call, which costs more than most writes. A Writer serves one goroutine at a time.
type Writer struct {
	More bool // other bytes follow at once, see SendMore

	raw  syscall.RawConn
	send func(fd uintptr) bool // made once

	b   []byte // the argument of send
	n   int
	err error
}

// NewWriter returns nil for a connection that Raw does not support.
func NewWriter(conn net.Conn) *Writer {
	raw := Raw(conn)
	if raw == nil {
		return nil
	}
	w := &Writer{raw: raw}
	w.send = func(fd uintptr) bool {
		if w.More {
			w.n, w.err = SendMore(fd, w.b)
		} else {
			w.n, w.err = Send(fd, w.b)
		}
		return true // RawConn.Write must not wait
	}
	return w
}

// TryWrite writes p[:n]. Without an error, p[n:] has to wait. The error may also be that the
// connection is closed or its write deadline has passed.
func (w *Writer) TryWrite(p []byte) (n int, err error) {
	w.b, w.n, w.err = p, 0, nil
	err = w.raw.Write(w.send)
	w.b = nil
	if err != nil {
		return 0, err
	}
	return w.n, w.err
}

// Silent reports whether nothing has arrived on a socket, not even the end of the stream. It
// consumes nothing.
func Silent(fd uintptr) bool {
	var b [1]byte
	_, ok := Peek(fd, b[:])
	return !ok
}
