package front

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

const (
	// maxHead bounds the head of a hot request, in bytes: fasthttp's buffer must
	// hold all of it.
	maxHead = 4 << 10
	// minNext is how many bytes a request after the first begins with: net/http
	// takes fewer, and then the end, for noise that needs no answer.
	minNext = 4
	// patience is how long a request may stand half-read on the hot side. Then the
	// cold side waits for the rest, by its own timeouts.
	patience = time.Second
	// coarseness is the part of a timeout by which it may end early: a deadline is
	// set anew when so much of it has passed, not for every request.
	coarseness = 16
)

// conn is a connection as the hot server sees it: a Read gives whole plain
// requests for hot routes, and at the first other one it gives the end. One
// goroutine uses it, but for wake.
type conn struct {
	net.Conn
	server *Server

	held     []byte // read from the client, not given yet
	ready    int    // of these, whole requests that may be given
	cold     bool   // what is held is for the cold side
	answered bool   // a request was read: what is waited for now is another one
	posted   bool   // and it was a POST

	now             time.Time // when something was read last
	readBy, writeBy time.Time // the deadlines that are set
	head            Head
}

// Read implements net.Conn.
//
// hot: BenchmarkServe
func (c *conn) Read(p []byte) (int, error) {
	if c.cold {
		return 0, io.EOF
	}
	if len(c.held) == 0 {
		n, err := c.idle(p)
		if err != nil {
			return 0, err
		}
		whole := c.screen(p[:n])
		c.held = append(c.held, p[whole:n]...) // usually nothing
		if whole > 0 {
			return whole, nil
		}
	}
	for c.ready == 0 && !c.cold {
		if c.ready = c.screen(c.held); c.ready == 0 && !c.cold && !c.more() {
			return 0, io.EOF
		}
	}
	n := copy(p, c.held[:c.ready])
	c.held = c.held[:copy(c.held, c.held[n:])]
	c.ready -= n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// screen returns how much of b is whole hot requests. If what follows will not be
// one, and nothing is before it, the connection is cold.
func (c *conn) screen(b []byte) (whole int) {
	for whole < len(b) {
		rest := b[whole:]
		verdict := c.head.parse(rest)
		if len(rest) < minNext && (c.answered || whole > 0) {
			verdict = partial
		}
		switch {
		case verdict == plain && c.head.size <= maxHead && c.head.size+c.head.body <= maxRequest && c.server.routes.Takes(&c.head):
			if size := c.head.size + c.head.body; size <= len(rest) {
				whole += size
				c.posted = c.head.Post
				continue
			}
		case verdict == partial && len(rest) < maxHead:
		default:
			c.cold = whole == 0
		}
		break
	}
	c.answered = c.answered || whole > 0
	return whole
}

// idle waits for a request to begin. Whatever goes wrong is an end of the
// connection that needs no answer.
func (c *conn) idle(p []byte) (int, error) {
	timeout := c.server.idle
	if !c.answered {
		timeout = c.server.first
	}
	if by := c.now.Add(timeout); by.Sub(c.readBy) > timeout/coarseness {
		c.readUntil(by)
	}
	if c.server.stopping.Load() { // asked after the deadline is set: a wake comes later
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	if err != nil && n == 0 {
		return 0, io.EOF
	}
	c.now = time.Now()
	return n, nil
}

// more reads on in a request that has begun. If that ends, or takes too long, the
// cold side is to know what it means. False: nobody needs to know.
func (c *conn) more() bool {
	const step = 1 << 10
	c.now = time.Now()
	c.readUntil(c.now.Add(patience))
	if c.server.stopping.Load() {
		c.cold = true
		return true
	}
	begin := len(c.held)
	c.held = append(c.held, make([]byte, step)...)
	n, err := c.Conn.Read(c.held[begin:])
	c.held = c.held[:begin+n]
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && c.answered && len(c.held) < minNext {
		return false
	}
	c.cold = err != nil
	return true
}

// readUntil sets the deadline of reads. An error is one of a closed connection,
// which the next read tells.
func (c *conn) readUntil(by time.Time) {
	c.readBy = by
	_ = c.SetReadDeadline(by)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	timeout := c.server.write
	if by := c.now.Add(timeout); by.Sub(c.writeBy) > timeout/coarseness {
		c.writeBy = by
		if err := c.SetWriteDeadline(by); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}

// Close does nothing: when the hot server has done with a connection, leave knows
// what becomes of it.
func (c *conn) Close() error { return nil }

// wake ends a Read that waits for a request.
func (c *conn) wake() { _ = c.SetReadDeadline(time.Unix(1, 0)) }

// cooled returns the connection as it was before the request that is held.
func (c *conn) cooled() net.Conn {
	_ = c.SetDeadline(time.Time{})
	r := &replay{Conn: c.Conn, held: c.held}
	if c.posted {
		r.lineEnds = 4
	}
	return r
}
