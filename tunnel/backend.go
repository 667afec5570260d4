package tunnel

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"paddock/internal/nowait"
)

// backend is a connection to an HTTP target and what has been read of it. It serves one
// exchange at a time, and holds no buffer while it waits for one.
type backend struct {
	conn    net.Conn
	raw     syscall.RawConn // nil: whether it lives cannot be seen
	reused  bool            // it has served an exchange before
	expires time.Time       // set by rest

	buf  *[backendBuffer]byte // nil while it waits
	r, w int                  // buf[r:w] is what nobody has taken; r is at least 1
	keep time.Duration        // how long the target keeps it, as it said
}

// backendBuffer holds a head, and one record with the byte before it.
const backendBuffer = 1 + maxRecord

var backendBuffers = sync.Pool{New: func() any { return new([backendBuffer]byte) }}

func newBackend(conn net.Conn) *backend {
	b := &backend{conn: conn, keep: idleTime}
	if c, ok := conn.(syscall.Conn); ok {
		b.raw, _ = c.SyscallConn()
	}
	return b
}

// alive says whether an idle connection is still open, as far as can be seen without
// waiting. Bytes that nobody has asked for count as an end.
func (b *backend) alive() bool {
	if b.raw == nil {
		return true
	}
	silent := false
	var in nowait.Receiver
	var one [1]byte
	err := b.raw.Read(func(fd uintptr) bool {
		_, _, silent, _ = in.Receive(fd, one[:], false)
		return true
	})
	return err == nil && silent
}

// rest gives the buffer back.
func (b *backend) rest() {
	b.expires = time.Now().Add(b.keep)
	b.free()
}

func (b *backend) free() {
	if b.buf != nil {
		backendBuffers.Put(b.buf)
		b.buf = nil
	}
	b.r, b.w = 0, 0
}

// close ends the connection for good.
func (b *backend) close() {
	_ = b.conn.Close()
	b.free()
}

// fill reads more behind what nobody has taken, which it may move to the front. The error
// is errHead where there is no room, else that of the connection.
func (b *backend) fill() error {
	if b.buf == nil {
		b.buf, b.r, b.w = backendBuffers.Get().(*[backendBuffer]byte), 1, 1
	}
	if b.r == b.w {
		b.r, b.w = 1, 1
	}
	if b.w == len(b.buf) {
		b.w = 1 + copy(b.buf[1:], b.buf[b.r:b.w])
		b.r = 1
		if b.w == len(b.buf) {
			return badHead("over %d bytes", maxRecord)
		}
	}
	n, err := b.conn.Read(b.buf[b.w:])
	b.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// rest of what was read and nobody has taken.
func (b *backend) unread() []byte {
	if b.buf == nil {
		return nil
	}
	return b.buf[b.r:b.w]
}

// readHead reads a head up to its empty line and judges it. begun says whether a byte of
// it has come before an error.
func (b *backend) readHead(h *head, form form) (begun bool, err error) {
	seen := 0
	for {
		if end := headEnd(b.unread(), seen); end > 0 {
			text := b.unread()[:end]
			b.r += end
			return true, h.parse(text, form)
		}
		seen = len(b.unread())
		if err := b.fill(); err != nil {
			return seen > 0, err
		}
	}
}

// headEnd is the length of the head at the front of b, 0 if it has not come whole. The
// first seen bytes have been looked at before.
func headEnd(b []byte, seen int) int {
	for at := max(seen-2, 0); ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return 0
		}
		at += n + 1
		switch {
		case at == 1, at == 2 && b[0] == '\r': // no fields at all, as in trailers
			return at
		case at < len(b) && b[at] == '\n':
			return at + 1
		case at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n':
			return at + 2
		}
	}
}

// noteKeepAlive remembers how long the target keeps an idle connection: a second less,
// so that its end does not meet our next request.
func (b *backend) noteKeepAlive(h *head) {
	b.keep = idleTime
	for i := range h.fields {
		if h.fields[i].known != fieldKeepAlive {
			continue
		}
		tokens(h.fields[i].value, func(token string) {
			if text, ok := bytes.CutPrefix([]byte(token), []byte("timeout=")); ok {
				if n, err := strconv.Atoi(string(text)); err == nil && n >= 0 {
					b.keep = min(b.keep, time.Duration(n-1)*time.Second)
				}
			}
		})
	}
}

// errShort is a body that ends before it should.
var errShort = errors.New("tunnel: the target has ended its answer early")
