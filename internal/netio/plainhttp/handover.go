package plainhttp

import (
	"crypto/tls"
	"io"
	"net"
	"time"

	"paddock/internal/netio/listen"
)

// handOver hands a connection over to net/http. It closes the connection if net/http no longer
// accepts.
func (s *Server) handOver(c *conn) {
	_ = c.SetDeadline(time.Time{}) // fails if the connection has ended, as the next read will
	given := c.Conn
	if _, ok := given.(*tls.Conn); !ok { // of which nothing was read, and which net/http knows
		r := &replay{Conn: c.Conn, held: c.held, known: c.known()}
		if c.posted {
			r.lineEnds = 4
		}
		given = r
	}
	if !s.handovers.Give(given) {
		_ = c.Close()
	}
}

// replay is a connection with a part that was read before.
type replay struct {
	net.Conn
	held []byte
	// lineEnds is the number of line ends that may still be skipped before a request: net/http does
	// so after a POST of its own.
	lineEnds int
	known    bool // see Known
}

// Known reports whether credentials of the connection were admitted before net/http got it.
func (r *replay) Known() bool { return r.known }

// Read implements net.Conn. One goroutine at a time calls it.
func (r *replay) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil && len(p) > 0 {
		if len(r.held) > 0 {
			n = copy(p, r.held)
			r.held = r.held[n:]
		} else {
			r.held = nil // releases the buffer
			n, err = r.Conn.Read(p)
		}
		if r.lineEnds > 0 {
			n = copy(p, r.begin(p[:n]))
		}
	}
	return n, err
}

// begin skips line ends at the beginning of b.
func (r *replay) begin(b []byte) []byte {
	for ; len(b) > 0 && r.lineEnds > 0; r.lineEnds-- {
		if b[0] != '\r' && b[0] != '\n' {
			r.lineEnds = 0
			break
		}
		b = b[1:]
	}
	return b
}

// ReadFrom uses sendfile if the connection can.
func (r *replay) ReadFrom(from io.Reader) (int64, error) { return io.Copy(r.Conn, from) }

// CloseWrite lets net/http end a connection whose client is still sending without a reset, which
// could destroy the answer on its way to the client.
func (r *replay) CloseWrite() error { return listen.CloseWrite(r.Conn) }
