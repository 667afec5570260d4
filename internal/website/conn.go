package website

import (
	"io"
	"net"
	"time"
)

// The bounds of how slowly a client may take an answer: each write of at most
// stretch bytes has stall for itself, so that a large file may take hours, but
// nobody holds a connection with less than 4 KB a second.
const (
	stretch = 256 << 10
	stall   = time.Minute
)

// pacedConn is a connection as net/http gets it: beginning with bytes that have been
// read already, and with a deadline for each write.
type pacedConn struct {
	net.Conn
	unread []byte
}

// Read implements net.Conn.
func (c *pacedConn) Read(b []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil // which lets go of the buffer
	}
	return n, nil
}

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

// ReadFrom sends a file by the kernel: sendfile(2) is under the ReadFrom of a TCP
// connection, if it gets the file itself or a bounded part of it.
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

// CloseWrite lets net/http end a connection whose client is still sending without
// a reset, which would cost that client the answer.
func (c *pacedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
