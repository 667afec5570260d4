package website

import (
	"io"
	"net"
	"syscall"
	"time"

	"paddock/internal/netio/listen"
)

// The least speed of a client: each write of at most stretch bytes may take stall. So a large file
// may take hours, but no client holds a connection with less than 4 KB a second.
const (
	stretch = 256 << 10
	stall   = time.Minute
)

// pacedListener is one whose connections have a deadline for each write.
type pacedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l pacedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &pacedConn{conn}, nil
}

// pacedConn is a connection with a deadline for each write.
type pacedConn struct{ net.Conn }

// SyscallConn gives the connection's descriptor, if it has one.
func (c *pacedConn) SyscallConn() (syscall.RawConn, error) { return listen.SyscallConn(c.Conn) }

// Write implements net.Conn.
func (c *pacedConn) Write(b []byte) (written int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(b[:min(stretch, len(b))])
		written += n
		if b = b[n:]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// ReadFrom sends a file with sendfile(2): the ReadFrom of a TCP connection uses it for a file, or
// for a bounded part of one.
func (c *pacedConn) ReadFrom(r io.Reader) (sent int64, err error) {
	whole, bounded := r.(*io.LimitedReader)
	if !bounded {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	for whole.N > 0 {
		if err := c.SetWriteDeadline(time.Now().Add(stall)); err != nil {
			return sent, err
		}
		part := &io.LimitedReader{R: whole.R, N: min(stretch, whole.N)}
		n, err := io.Copy(c.Conn, part)
		sent += n
		whole.N -= n
		if err != nil || n == 0 {
			return sent, err
		}
	}
	return sent, nil
}

// CloseWrite lets net/http end a connection whose client is still sending without a reset, which
// could destroy the answer on its way to the client.
func (c *pacedConn) CloseWrite() error { return listen.CloseWrite(c.Conn) }
