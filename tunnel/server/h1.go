package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/nowait"
	"paddock/tunnel/internal/proxyproto"
	"paddock/tunnel/internal/relay"
)

// h1Conn is a visitor's connection with HTTP/1.1. One goroutine, serve, reads its requests one
// after the other and answers each before it reads the next; it waits for the link with the request
// on its own stack. At most one other goroutine runs beside it: either upload.run, which sends a
// long body, or readAhead, which notices that the visitor leaves.
//
// It implements turn for each of its requests.
type h1Conn struct {
	f          *front
	conn       net.Conn
	raw        syscall.RawConn    // nil: under TLS
	arrived    func(uintptr) bool // c.receive, made once
	peer       netip.AddrPort
	secure     bool
	serverName string
	ctx        context.Context // ends when the visitor has gone
	cancel     context.CancelFunc

	buffers *h1Buffers // nil while nothing has come
	r, w    int        // room.in[r:w] is unread
	readErr error      // of receive
	until   time.Time  // the read deadline between requests, if timed has not been set
	timed   atomic.Bool
	served  bool // a request has been served: the next one is awaited
	ahead   h1Watch

	mu   sync.Mutex
	idle bool // guarded by mu: the connection may be closed

	body   h1Body
	answer h1Answer
}

// h1Buffers holds the buffers of a connection while a request is in progress.
type h1Buffers struct {
	in       []byte // all of it may be read into
	out      []byte // of the answer, not written yet
	receiver nowait.Receiver
	req      request
	x        exchange
}

const (
	firstBuffer = proxyproto.MaxBytes // fits a proxy's header with the bytes behind it
	// maxBuffer holds a head, and the framing between the chunks of its body.
	maxBuffer = h1.MaxVisitorHead + 16<<10
	// keptRoom is up to which size a buffer is used again.
	keptRoom = 64 << 10
)

var h1BufferPool = sync.Pool{New: func() any { return &h1Buffers{in: make([]byte, firstBuffer)} }}

// newH1Conn is for a connection that may have TLS behind it, begun with serverName.
func newH1Conn(f *front, conn net.Conn, serverName string, secure bool) *h1Conn {
	c := &h1Conn{f: f, conn: conn, peer: relay.AddrPort(conn.RemoteAddr()), secure: secure, serverName: serverName}
	c.raw = nowait.Raw(relay.SocketOf(conn))
	c.arrived = c.receive
	c.ahead.done = make(chan struct{}, 1)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// take puts bytes that were read before at the front. It is called before serve.
func (c *h1Conn) take(first []byte) {
	if len(first) > 0 {
		c.buffers = h1BufferPool.Get().(*h1Buffers)
		c.w = copy(c.buffers.in, first)
	}
}

// errHTTP2 reports that the visitor uses HTTP/2.
var errHTTP2 = errors.New("tunnel: the preface of HTTP/2")

// http2Preface is RFC 9113 section 3.4.
const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// serve answers request after request, until the connection ends or net/http has it.
func (c *h1Conn) serve() {
	if !c.f.enter(c) {
		_ = c.conn.Close()
		return
	}
	defer c.f.leave(c)
	defer c.cancel()
	for c.next() {
		err := c.readHead()
		if errors.Is(err, errHTTP2) && c.f.s.NoHTTP2 {
			c.decline()
			break
		}
		if errors.Is(err, errHTTP2) {
			c.f.handOver(&begun{Conn: c.conn, first: bytes.Clone(c.buffers.in[c.r:c.w])})
			c.rest()
			return
		}
		if !c.turn(err) {
			break
		}
	}
	c.rest()
	_ = c.conn.Close()
}

// next waits for the next request, if nothing of it has come already.
func (c *h1Conn) next() bool {
	if c.r < c.w {
		c.w = copy(c.buffers.in, c.buffers.in[c.r:c.w])
		c.r = 0
		return !c.timed.Load() || c.wait()
	}
	c.rest()
	if !c.wait() {
		return false
	}
	var err error
	if c.raw != nil {
		if err = c.raw.Read(c.arrived); err == nil {
			err = c.readErr
		}
	} else {
		var one [1]byte
		if _, err = io.ReadFull(c.conn, one[:]); err == nil { // the rest waits in the buffers of TLS
			c.buffers = h1BufferPool.Get().(*h1Buffers)
			c.buffers.in[0], c.r, c.w = one[0], 0, 1
		}
	}
	c.mu.Lock()
	c.idle = false
	c.mu.Unlock()
	return err == nil
}

// receive reads available bytes without waiting. done reports whether there are any.
func (c *h1Conn) receive(fd uintptr) (done bool) {
	room := h1BufferPool.Get().(*h1Buffers)
	n, _, wait, err := room.receiver.Receive(fd, room.in, false)
	if wait || err != nil {
		h1BufferPool.Put(room)
		c.readErr = err
		return !wait
	}
	c.buffers, c.r, c.w = room, 0, n
	return true
}

// rest gives the room back.
func (c *h1Conn) rest() {
	room := c.buffers
	if room == nil {
		return
	}
	c.buffers, c.r, c.w = nil, 0, 0
	if room.in == nil {
		return // the connection was hijacked
	}
	if len(room.in) > firstBuffer {
		room.in = make([]byte, firstBuffer)
	}
	if cap(room.out) > keptRoom {
		room.out = nil
	}
	room.req.ctx = nil
	h1BufferPool.Put(room)
}

// wait bounds how long the next request is waited for; false: not at all. The deadline
// is moved when a sixteenth of its time has passed, not for every request.
func (c *h1Conn) wait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.f.stopping.Load() {
		return false
	}
	c.idle = c.r == c.w
	span, now := c.f.s.limits.Idle, time.Now()
	if !c.served {
		span = c.f.s.limits.Head
	}
	if left := c.until.Sub(now); c.timed.Swap(false) || left < span-span/16 || left > span {
		c.until = now.Add(span)
		_ = c.conn.SetReadDeadline(c.until)
	}
	return true
}

// stop ends the wait for the next request, or for the end of a connection after its last answer.
func (c *h1Conn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle {
		_ = c.conn.SetReadDeadline(relay.LongAgo)
	}
}

// turn answers one request, or reports the fault of its head. It reports whether another request
// may follow.
func (c *h1Conn) turn(err error) bool {
	q := &c.buffers.req
	q.ctx, q.peer, q.secure, q.serverName = c.ctx, c.peer, c.secure, c.serverName
	c.served = true
	c.answer = h1Answer{}
	switch {
	case err == nil:
	case errors.Is(err, h1.ErrMalformed):
		c.answer.closes = true
		c.f.s.refuse(c, Refusal{Reason: Malformed, Err: err})
		c.linger()
		return false
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.f.stopping.Load():
		c.answer.closes = true
		c.f.s.refuse(c, Refusal{Reason: Malformed, Err: h1.BadRequest(408, "no whole head in time")})
		return false
	default:
		return false
	}
	if c.body.begin(&q.Head); c.body.over.Load() {
		c.watch()
	} else {
		c.readUntil(time.Time{}) // readers of the body set deadlines
	}
	x := &c.buffers.x
	x.t, x.r = c, q
	c.f.s.exchange(x)
	*x = exchange{head: h1.Head{Fields: x.head.Fields[:0]}}
	c.unwatch()
	return c.another()
}

// maxUnread bounds the unwanted rest of a body that is read to keep the connection.
const maxUnread = 64 << 10

// another reads the rest of the request, and reports whether the connection can take another one.
func (c *h1Conn) another() bool {
	a := &c.answer
	switch {
	case a.over || a.err != nil || c.ctx.Err() != nil:
		return false
	case a.closes:
		if c.r < c.w || !c.body.over.Load() {
			c.linger()
		}
		return false
	case c.body.over.Load():
		return true
	}
	c.readUntil(time.Now().Add(c.f.s.limits.Head))
	err := c.body.err
	for err == nil {
		_, err = c.readBody(c.buffers.scratch())
	}
	return errors.Is(err, io.EOF)
}

// scratch returns a buffer for bytes that are dropped.
func (r *h1Buffers) scratch() []byte {
	if cap(r.out) < firstBuffer {
		r.out = make([]byte, 0, firstBuffer)
	}
	return r.out[:cap(r.out)]
}

// linger ends the connection so that the answer arrives. A close with unread bytes, or bytes that
// arrive after it, causes a reset. A reset overtakes written data, or fails the visitor's own write
// before it reads the answer. Therefore the visitor's bytes are dropped until it ends, as a visitor
// does that has the answer, or until the time is over.
func (c *h1Conn) linger() {
	if relay.CloseWrite(c.conn) != nil {
		return
	}
	c.mu.Lock()
	span := answerLinger
	if c.idle = true; c.f.stopping.Load() {
		span = bodyLinger
	}
	c.readUntil(time.Now().Add(span))
	c.mu.Unlock()
	for err := error(nil); err == nil; {
		_, err = c.conn.Read(c.buffers.scratch())
	}
}

func (c *h1Conn) asked() *request { return &c.buffers.req }

// here reports whether n bytes of the body are buffered. It is for bodies that this connection
// reads.
func (c *h1Conn) here(n int64) bool { return n == 0 || int64(c.w-c.r) >= n }

func (c *h1Conn) readUntil(t time.Time) {
	c.timed.Store(true)
	_ = c.conn.SetReadDeadline(t)
}

func (c *h1Conn) abort() {
	// If the end of the connection ends the answer, a clean close would make a truncated answer
	// look complete. And the system would keep untaken bytes for minutes.
	if c.answer.framing == h1.ByClose || isTimeout(c.answer.err) {
		relay.ResetConn(c.conn)
	}
	c.answer.over = true
}

func (c *h1Conn) hijack() (net.Conn, []byte, error) {
	c.unwatch()
	c.answer.over = true
	if err := c.ctx.Err(); err != nil {
		return nil, nil, err
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	first := bytes.Clone(c.buffers.in[c.r:c.w])
	c.buffers.in, c.buffers.out = nil, nil
	return c.conn, first, nil
}

// errNoHTTP2 answers a visitor that sends the preface of HTTP/2 to a front without it.
var errNoHTTP2 = h1.BadRequest(http.StatusHTTPVersionNotSupported, "HTTP/2 is off at this front")

// declined is the answer to the preface: a server's initial empty SETTINGS, and GOAWAY with
// HTTP_1_1_REQUIRED and a readable reason; RFC 9113 sections 3.4, 6.8 and 7.
var declined = func() []byte {
	const settings, goAway, http11Required, word = 4, 7, 0xd, "HTTP/1.1 is spoken here, and HTTP/2 is off"
	frame := func(kind byte, payload string) []byte {
		return append([]byte{0, 0, byte(len(payload)), kind, 0, 0, 0, 0, 0}, payload...)
	}
	return append(frame(settings, ""), frame(goAway, fmt.Sprintf("\x00\x00\x00\x00\x00\x00\x00%c%s", http11Required, word))...)
}()

// decline refuses HTTP/2 in its own words.
func (c *h1Conn) decline() {
	c.f.s.refused(Refusal{Reason: Malformed, Status: http.StatusHTTPVersionNotSupported, Peer: c.peer.String(), Err: errNoHTTP2})
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.f.s.limits.Stall))
	if _, err := c.conn.Write(declined); err == nil {
		c.linger()
	}
}

// protocols returns the protocols that TLS offers to visitors.
func (s *Server) protocols() []string {
	if s.NoHTTP2 {
		return []string{"http/1.1"}
	}
	return []string{"h2", "http/1.1"}
}

// watchAfter is the age of an exchange at which the server begins to look whether the visitor has
// left: most are over by then, and cost no goroutine.
const watchAfter = 5 * time.Millisecond

// h1Watch is the goroutine that reads ahead while an answer is awaited and sent: the end of the
// connection means that the visitor has left. Other bytes are its next request. When the buffer is
// full reading stops, and only failing writes reveal that the visitor has left.
type h1Watch struct {
	armed bool // by the reader of the body's end
	timer *time.Timer
	done  chan struct{} // gets one value when readAhead returns

	mu      sync.Mutex
	stopped bool // guarded by mu
}

// watch begins to look, in a while.
func (c *h1Conn) watch() {
	w := &c.ahead
	w.armed, w.stopped = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, c.readAhead)
		return
	}
	w.timer.Reset(watchAfter)
}

// unwatch ends the reading ahead, before another goroutine reads.
func (c *h1Conn) unwatch() {
	w := &c.ahead
	if !w.armed {
		return
	}
	w.armed = false
	if w.timer.Stop() {
		return
	}
	w.mu.Lock()
	w.stopped = true
	c.readUntil(relay.LongAgo)
	w.mu.Unlock()
	<-w.done
}

// readAhead is the goroutine: it reads until it is stopped or nothing more is to come.
func (c *h1Conn) readAhead() {
	w := &c.ahead
	defer func() { w.done <- struct{}{} }()
	w.mu.Lock()
	if !w.stopped {
		c.readUntil(time.Time{})
	}
	w.mu.Unlock()
	for c.w < len(c.buffers.in) {
		n, err := c.conn.Read(c.buffers.in[c.w:])
		c.w += n
		if err != nil {
			_ = c.lost(err)
			return
		}
	}
}
