package client

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/nowait"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
)

// backend is a connection to an HTTP target with its read buffer. It serves one exchange at a time,
// and holds no buffer while it waits for an exchange or an answer.
type backend struct {
	conn    net.Conn
	beneath syscall.RawConn // the socket, below TLS too; nil: its state is unknown
	reused  bool            // it has served an exchange before
	since   time.Time       // set by rest: when it began to wait
	expires time.Time       // and until when it does at most
	watching

	buf  *relay.Record // nil while it waits
	r, w int           // buf[r:w] is unread; r is at least 1
	keep time.Duration // the target's announced timeout of idle connections
}

func newBackend(conn net.Conn) *backend {
	b := &backend{conn: conn, keep: idleTime}
	b.beneath = nowait.Raw(relay.Innermost(conn))
	b.initWatching()
	return b
}

// rest gives the buffer back.
func (b *backend) rest() {
	b.since = time.Now()
	b.expires = b.since.Add(b.keep)
	b.free()
}

func (b *backend) free() {
	if b.buf != nil {
		relay.Records.Put(b.buf)
		b.buf = nil
	}
	b.r, b.w = 0, 0
}

// close ends the connection for good. Only its reader calls it.
func (b *backend) close() {
	_ = b.conn.Close()
	b.stopClock()
	b.free()
}

// abort ends the exchange because the visitor has left, so that the target notices at once.
func (b *backend) abort() { _ = b.conn.Close() }

// fill reads more bytes behind the unread ones, which it may move to the front. The error is
// h1.ErrMalformed if the buffer is full, otherwise that of the connection.
func (b *backend) fill() error {
	if b.buf == nil {
		b.buf, b.r, b.w = relay.Records.Get().(*relay.Record), 1, 1
	}
	if b.r == b.w {
		b.r, b.w = 1, 1
	}
	if b.w == len(b.buf) {
		b.w = 1 + copy(b.buf[1:], b.buf[b.r:b.w])
		b.r = 1
		if b.w == len(b.buf) {
			return h1.Malformed("over %d bytes", message.MaxRecord)
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

// unread returns the bytes that were read and not consumed.
func (b *backend) unread() []byte {
	if b.buf == nil {
		return nil
	}
	return b.buf[b.r:b.w]
}

// readHead reads a head up to its empty line and judges it. begun reports whether a byte of
// it has come before an error.
func (b *backend) readHead(h *h1.Head, form h1.Form) (begun bool, err error) {
	seen := 0
	for {
		if end := h1.End(b.unread(), seen); end > 0 {
			text := b.unread()[:end]
			b.r += end
			return true, h.Parse(text, form)
		}
		seen = len(b.unread())
		if err := b.fill(); err != nil {
			return seen > 0, err
		}
	}
}

// noteKeepAlive remembers how long the target keeps an idle connection: a second less,
// so that its end does not meet our next request.
func (b *backend) noteKeepAlive(h *h1.Head) {
	b.keep = idleTime
	for i := range h.Fields {
		if h.Fields[i].Known != h1.KeepAliveField {
			continue
		}
		h1.Tokens(h.Fields[i].Value, func(token string) {
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
