package bus

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"paddock/bus/internal/protocol"
)

const (
	// drainTime and drainBytes bound how long a closed client's input is read
	// on: closing with unread input would reset the connection, and the client
	// might never read the reason.
	drainTime  = 500 * time.Millisecond
	drainBytes = 8 << 20
)

// past is a read deadline that ends a read at once.
var past = time.Unix(1, 0)

// client is one network connection. Its reader goroutine runs serve, and owns the connection's life
// and everything that it parses and routes. Any goroutine may deliver to the client, write its
// pending output, and end it. Only serve closes the connection, since closing waits for the reader.
type client struct {
	connection
	conn      net.Conn
	sock      socket
	host      string     // the peer's address without port; empty in process
	door      doorKind   // by which it has come
	rejected  *violation // set before serve: turned away after INFO
	transport *transport // between protocol and socket; nil = nothing. Set by release
	trace     *tracer    // nil = nothing is traced
	nonce     string     // for nkeys; empty if there are none

	// Owned by the reader.
	parse      protocol.Parser
	route      *router // while a batch is routed
	opts       connectOptions
	ownsWriter bool    // enter has the writer's role
	early      []byte  // read while the door was looked for
	greeted    bool    // CONNECT has come
	infoSent   bool    // the second INFO has gone out
	seen       *Config // for which parse and grant are made
	grant      *grant  // access.grant when seen was

	// Shared by the reader and the timers.
	stop       atomic.Bool // nothing more is to be read
	authorized atomic.Bool
	tlsFirst   atomic.Bool  // the handshake of TLS came before INFO
	lastInput  atomic.Int64 // Unix ns of the latest read
	pingsOut   atomic.Int32 // PINGs without an answer
	answered   atomic.Bool  // one PONG has come

	finished chan struct{} // closed by settle: there is no writer any more

	// Guarded by mu.
	mapped   *certNames // of a certificate that names the user; nil = it does not
	access   access
	out      writer
	timers   timers
	headers  bool // the client takes HMSG
	noEcho   bool
	informed bool        // the second INFO is made, or has gone out
	answers  *answers    // nil = not permitted
	reason   CloseReason // 0 = open; else nothing is delivered any more
	aborted  bool        // nothing is written any more
	listed   bool        // among the ended connections, so the peer may see the end
	settled  bool        // finished is closed
	who      identity

	retiring sync.Once
	retired  bool // among the ended connections; guarded by the server's lock
}

var (
	_ endpoint         = (*client)(nil)
	_ protocol.Handler = (*client)(nil)
)

func newClient(s *Server, conn net.Conn) *client {
	c := &client{
		conn:     conn,
		opts:     defaultOptions(),
		finished: make(chan struct{}),
	}
	c.connection.start(s)
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.host = tcp.IP.String()
	}
	c.out.c = c
	c.sock.init(conn)
	c.parse.Pedantic = c.opts.Pedantic
	c.trace = newTracer(c)
	c.begin(s.cfg())
	return c
}

// serve runs the connection from its INFO to its end. When it returns, there is no writer any more.
func (c *client) serve() {
	c.debug("Client connection created")
	entered := c.enter()
	c.startTimers()
	switch {
	case !entered:
	case c.rejected != nil:
		c.end(c.rejected)
	default:
		c.readLoop()
	}
	c.srv.readers.Done()
	if c.open() { // the server is stopping: take messages that others still publish
		<-c.srv.quiet
		c.shut(ServerShutdown, "")
	}
	c.retire()
	c.discardInput()
	<-c.finished
	c.stopTimers()
	c.conn.Close()
	c.mu.Lock()
	reason := c.reason
	c.mu.Unlock()
	c.debug("Client connection closed: " + reason.String())
}

// debug logs a detail at debug level. A logger for the connection costs memory, so it is made only
// then.
func (c *client) debug(text string) {
	if c.srv.cfg().Logger.Enabled(context.Background(), slog.LevelDebug) {
		c.logger().Debug(text)
	}
}

// readLoop parses and routes until the connection or the server ends.
func (c *client) readLoop() {
	defer c.recoverReader()
	err := c.readAll()
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded): // ended or kicked
	case errors.Is(err, io.EOF):
		c.shut(ClientClosed, "")
	default:
		c.shut(ReadError, "")
	}
}

// readAll reads to the end, through the transport if there is one. The bytes that its handshake has
// left unread come first.
func (c *client) readAll() error {
	w := c.transport
	if w == nil {
		if len(c.early) > 0 && !c.handle(c.early) {
			return nil
		}
		return c.sock.readAll(c.handle)
	}
	if !w.open(nil) {
		return w.err
	}
	if err := c.sock.readAll(w.open); err != nil {
		return err
	}
	return w.err
}

// handle routes the bytes of one read as one batch. It reports whether to go on.
func (c *client) handle(batch []byte) bool {
	now := time.Now().UnixNano()
	c.lastInput.Store(now)
	if (c.seen != c.srv.cfg() || c.parse.MustAuth) && !c.prepareBatch(batch) {
		return false
	}
	c.trace.came(batch)
	c.route = c.srv.router()
	c.route.now = now
	err := c.parse.Feed(batch, c)
	c.finishBatch()
	c.srv.release(c.route)
	c.route = nil
	c.out.flush()
	if v := violationOf(err); v != nil {
		c.end(v)
		return false
	}
	return !c.stop.Load()
}

// finishBatch brings the messages routed so far to their destinations, and publishes the counts.
func (c *client) finishBatch() {
	c.route.settle()
	c.usage.count(c.route)
	c.route.finish(nil)
}

// end closes for a violation of the protocol or its limits.
func (c *client) end(v *violation) {
	if c.shut(v.reason, v.text) {
		c.fault(v)
	}
}

// fault logs why the connection ends, unless there were too many such lines recently.
func (c *client) fault(err error) {
	if left, ok := c.srv.faultLines.Take(); ok && left == 0 {
		c.logger().Error(err.Error())
	} else if ok {
		c.logger().Error(err.Error(), "left_out", left)
	}
}

// shut ends the connection: text goes out as the last -ERR if it is not empty, then the pending
// bytes are written, unless the reason rules that out. The first reason wins; shut reports whether
// this was it.
func (c *client) shut(reason CloseReason, text string) bool {
	c.mu.Lock()
	if c.reason != 0 {
		c.mu.Unlock()
		return false
	}
	if text != "" {
		c.out.append(appendErr(nil, text))
	}
	c.closeFor(reason)
	c.mu.Unlock()
	c.retire()
	c.out.flush()
	return true
}

// closeFor ends an open connection for a reason. A gentle caller flushes it afterwards. c.mu is
// held.
func (c *client) closeFor(reason CloseReason) {
	c.reason = reason
	c.srv.counters.closed[reason].Add(1) // before the client can see the end
	if reason.abrupt() {
		c.delivered.lost = c.out.pending
		c.abort()
		return
	}
	c.out.endWebSocket(reason)
	c.stop.Store(true)
	c.conn.SetReadDeadline(past) // ends the reader
}

// abort drops the pending bytes and ends reads and writes. c.mu is held.
func (c *client) abort() {
	c.aborted = true
	c.stop.Store(true)
	c.out.discard()
	c.conn.SetDeadline(past)
	c.out.admitRouters()
	c.settle()
}

func (c *client) open() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason == 0
}

func (c *client) logger() *slog.Logger {
	from := c.conn.RemoteAddr().String()
	switch c.door {
	case doorInProcess:
		from = "in-process"
	case doorUnix:
		from = "unix"
	}
	return c.srv.cfg().Logger.With("client", from, "cid", c.id)
}

// discardInput reads on while the last bytes are written and, for a short time,
// after the client has been told that nothing more comes: a client that sends
// before it reads could otherwise not get at its reason.
func (c *client) discardInput() {
	c.mu.Lock()
	if !c.settled && !c.aborted {
		c.conn.SetReadDeadline(time.Now().Add(c.srv.cfg().WriteDeadline))
	}
	c.mu.Unlock()
	io.CopyN(io.Discard, c.conn, drainBytes) // whatever ends it, the connection is closed next
}

// cut ends the connection and drops the pending bytes.
func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort()
}

// kick ends the reader's present or next read.
func (c *client) kick() {
	c.stop.Store(true)
	c.conn.SetReadDeadline(past)
}

// settle ends the output once the connection has ended and its last byte has
// been written, or never will be. c.mu is held.
func (c *client) settle() {
	if c.reason == 0 || c.settled || c.out.flushing || !c.listed && !c.aborted {
		return
	}
	c.settled = true
	close(c.finished)
	if c.transport != nil && !c.aborted {
		c.transport.bye()
	}
	half, ok := c.conn.(interface{ CloseWrite() error })
	if c.aborted || !ok || half.CloseWrite() != nil {
		c.conn.SetReadDeadline(past)
		return
	}
	c.conn.SetReadDeadline(time.Now().Add(drainTime))
}

func appendErr(dst []byte, text string) []byte {
	return append(append(append(dst, "-ERR '"...), text...), "'\r\n"...)
}

// A panic is a fault of this program, and often of one message in it. It ends the connection whose
// bytes have caused it, and no other. Three kinds of goroutine run input from outside: a network
// client's reader, a goroutine that publishes in process, and either of them while it runs
// callbacks.

// recoverReader is deferred by the reader of c. After a panic it delivers the routed messages,
// whose destinations' locks the router no longer holds, and closes c without further output: the
// state of its pending output is unknown.
func (c *client) recoverReader() {
	fault := recover()
	if fault == nil {
		return
	}
	c.srv.faulted(c.logger(), "a connection's reader has panicked", fault)
	if r := c.route; r != nil {
		c.route = nil
		r.abandon(c.logger())
	}
	c.shut(ReadError, "")
}
