package bus

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readMin and readMax bound a connection's read buffer: it doubles when a
	// read fills it and halves when reads stay small.
	readMin = 2 << 10
	readMax = 64 << 10
	// flushEarly is how much may gather before the writer is woken within a
	// batch, so that it works while the batch goes on.
	flushEarly = 64 << 10
	// keptPending is the largest output buffer kept by an idle connection.
	keptPending = 64 << 10
	// drainTime and drainBytes bound how long a closed client's input is read
	// on: closing with unread input would reset the connection, and the client
	// might never read the reason.
	drainTime  = 500 * time.Millisecond
	drainBytes = 8 << 20
)

// past is a read deadline that ends a read at once.
var past = time.Unix(1, 0)

// client is one network connection. Its reader goroutine runs serve, owns the
// connection's life and everything that it parses and routes; its writer
// goroutine runs writeLoop and the timers. Any goroutine may deliver to it and
// end it.
type client struct {
	srv      *Server
	conn     net.Conn
	id       uint64
	host     string     // the peer's address without port; empty in process
	rejected *violation // set before serve: turned away after INFO

	// Owned by the reader.
	parse   parser
	route   *router
	opts    connectOptions
	greeted bool // CONNECT has come
	told    bool // the second INFO has gone out

	// Shared by reader and writer.
	authorized atomic.Bool
	lastInput  atomic.Int64 // Unix ns of the latest read
	pingsOut   atomic.Int32 // PINGs without an answer
	answered   atomic.Bool  // one PONG has come

	wake  chan struct{} // capacity 1: more wakes while one waits say nothing new
	spare []byte        // owned by the writer: the buffer that is not out

	mu      sync.Mutex // guards what follows, and the subscriptions' counts
	out     []byte     // pending, in order
	writing int        // bytes that the writer holds
	mark    uint64     // the batch that has this client in its list
	subs    map[string]*subscription
	headers bool // the client takes HMSG
	noEcho  bool
	reason  CloseReason // 0 = open; else nothing is delivered any more
	written bool        // the writer has written its last byte
}

var (
	_ endpoint = (*client)(nil)
	_ handler  = (*client)(nil)
)

func newClient(s *Server, conn net.Conn) *client {
	c := &client{
		srv:  s,
		conn: conn,
		id:   s.clientIDs.Add(1),
		opts: defaultOptions(),
		wake: make(chan struct{}, 1),
		subs: make(map[string]*subscription),
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.host = tcp.IP.String()
	}
	c.route = newRouter(s)
	c.parse = parser{maxLine: s.cfg.MaxControlLine, maxPayload: s.cfg.MaxPayload, mustAuth: s.cfg.authRequired()}
	c.authorized.Store(!c.parse.mustAuth)
	return c
}

// serve runs the connection from its INFO to its end. When it returns, the
// writer has ended too.
func (c *client) serve() {
	c.append(c.srv.infoLine(c, false))
	var writer sync.WaitGroup
	writer.Go(c.writeLoop)
	c.signal()
	if c.rejected != nil {
		c.end(c.rejected)
	} else {
		c.readLoop()
	}
	c.srv.readers.Done()
	if c.open() { // the server is stopping: take what others still publish
		<-c.srv.quiet
		c.shut(ServerShutdown, "")
	}
	c.dropSubscriptions()
	c.discardInput()
	writer.Wait()
	c.conn.Close()
}

// readLoop parses and routes until the connection or the server ends.
func (c *client) readLoop() {
	buf := make([]byte, readMin)
	small := 0
	for {
		n, err := c.conn.Read(buf)
		if n > 0 && !c.handle(buf[:n]) {
			return
		}
		switch {
		case err == nil:
			buf, small = resize(buf, n, small)
		case errors.Is(err, io.EOF):
			c.shut(ClientClosed, "")
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			return // kicked
		default:
			c.shut(ReadError, "")
			return
		}
	}
}

// handle routes what one read returned as one batch.
func (c *client) handle(batch []byte) bool {
	c.lastInput.Store(time.Now().UnixNano())
	err := c.parse.feed(batch, c)
	c.route.finish(nil)
	c.signal()
	if v, ok := errors.AsType[*violation](err); ok {
		c.end(v)
		return false
	}
	return true
}

// resize returns the buffer for the next read after one of n bytes; small
// counts the reads in a row that would have fitted into half of it.
func resize(buf []byte, n, small int) ([]byte, int) {
	switch {
	case n == len(buf) && n < readMax:
		return make([]byte, 2*n), 0
	case n > len(buf)/2 || len(buf) == readMin:
		return buf, 0
	case small < 8:
		return buf, small + 1
	default:
		return make([]byte, len(buf)/2), 0
	}
}

// end closes for a violation of the protocol or its limits.
func (c *client) end(v *violation) {
	if c.shut(v.reason, v.text) {
		c.logger().Error(v.Error())
	}
}

// shut ends the connection: text goes out as the last -ERR if it is not empty,
// then what is pending is written, unless the reason says that it cannot be.
// The first reason wins; shut reports whether this was it.
func (c *client) shut(reason CloseReason, text string) bool {
	c.mu.Lock()
	if c.reason != 0 {
		c.mu.Unlock()
		return false
	}
	c.reason = reason
	if text != "" {
		c.out = appendErr(c.out, text)
	}
	if reason.abrupt() {
		c.out = nil
	}
	c.srv.counters.closed[reason].Add(1) // before the client can see the end
	c.conn.SetReadDeadline(past)         // ends the reader
	c.mu.Unlock()
	if reason.abrupt() {
		c.conn.Close()
	}
	c.signal()
	return true
}

func (c *client) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason == 0
}

func (c *client) logger() *slog.Logger {
	from := "in-process"
	if c.host != "" {
		from = c.conn.RemoteAddr().String()
	}
	return c.srv.cfg.Logger.With("client", from, "cid", c.id)
}

// discardInput reads on while the writer writes the last bytes and, for a short
// time, after it has told the client that nothing more comes: a client that
// sends before it reads could otherwise not get at its reason.
func (c *client) discardInput() {
	c.mu.Lock()
	if !c.written {
		c.conn.SetReadDeadline(time.Now().Add(c.srv.cfg.WriteDeadline))
	}
	c.mu.Unlock()
	io.CopyN(io.Discard, c.conn, drainBytes) // whatever ends it, the connection is closed next
}

// closeWrite follows the last byte.
func (c *client) closeWrite() {
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		c.conn.Close()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = true
	c.conn.SetReadDeadline(time.Now().Add(drainTime))
}

// kick ends the reader's present or next read.
func (c *client) kick() { c.conn.SetReadDeadline(past) }

// signal wakes the writer.
func (c *client) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // it has a wake to come already
	}
}

// append adds protocol bytes, which are never dropped: their amount is bounded
// by what the client itself sends, and with the messages by max_pending.
func (c *client) append(b ...[]byte) {
	c.mu.Lock()
	if c.reason == 0 {
		for _, part := range b {
			c.out = append(c.out, part...)
		}
	}
	slow := c.reason == 0 && c.pendingLocked() > c.srv.cfg.MaxPending
	c.mu.Unlock()
	if slow {
		c.slow()
	}
}

func (c *client) pendingLocked() int64 { return int64(len(c.out) + c.writing) }

func (c *client) slow() {
	if c.shut(SlowConsumerPendingBytes, "") {
		c.logger().Warn("Slow Consumer Detected: MaxPending exceeded", "max_pending", c.srv.cfg.MaxPending)
	}
}

// deliver appends m for s. It never blocks; a client that has no room for it is
// closed.
func (c *client) deliver(s *subscription, m *message, r *router, from endpoint) (d delivery) {
	c.mu.Lock()
	if c.reason != 0 || s.ended() || c.noEcho && from == endpoint(c) {
		c.mu.Unlock()
		return d
	}
	before := len(c.out)
	c.out, d.payload = m.appendTo(c.out, s.sid, c.headers)
	if c.pendingLocked() > c.srv.cfg.MaxPending {
		c.out = c.out[:before]
		c.mu.Unlock()
		c.slow()
		return delivery{}
	}
	if !m.status {
		s.delivered++
	}
	if d.taken, d.ended = true, s.ended(); d.ended {
		delete(c.subs, s.sid)
	}
	if c.mark != r.batch {
		c.mark = r.batch
		r.clients = append(r.clients, c)
	}
	early := before < flushEarly && len(c.out) >= flushEarly
	c.mu.Unlock()
	if early {
		c.signal()
	}
	return d
}

// dropSubscriptions takes all of the client's subscriptions out of the index.
func (c *client) dropSubscriptions() {
	c.mu.Lock()
	subs := c.subs
	c.subs = make(map[string]*subscription)
	for _, s := range subs {
		s.closed = true
	}
	c.mu.Unlock()
	for _, s := range subs {
		c.srv.subs.remove(s)
	}
}

func appendErr(dst []byte, text string) []byte {
	return append(append(append(dst, "-ERR '"...), text...), "'\r\n"...)
}
