package bus

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/bus/internal/protocol"
)

const (
	// drainTime and drainBytes bound how long a closed client's input is read on: closing with
	// unread input would reset the connection, and the client might never read the reason.
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
	host      string // the peer's address without port; empty in process
	from      listenerKind
	rejected  *violation // set before serve: turned away after INFO
	transport *transport // between protocol and socket; nil = nothing. Set by the opening
	trace     *tracer    // nil = nothing is traced

	in         reader
	stop       atomic.Bool // nothing more is to be read
	tlsFirst   atomic.Bool // the handshake of TLS came before INFO
	timers     timers
	auth       authorizer
	writerDone chan struct{} // closed by finishOutput: there is no writer any more

	// Guarded by mu.
	out      writer
	headers  bool // the client takes HMSG
	noEcho   bool
	informed bool        // the second INFO is made, or has gone out
	reason   CloseReason // 0 = open; else nothing is delivered any more
	aborted  bool        // nothing is written any more
	listed   bool        // among the ended connections, so the peer may see the end
	finished bool        // writerDone is closed
	identity identity

	retiring sync.Once
	retired  bool // among the ended connections; guarded by the server's lock
}

var _ endpoint = (*client)(nil)

func newClient(s *Server, conn net.Conn) *client {
	c := &client{
		conn:       conn,
		writerDone: make(chan struct{}),
	}
	c.connection.start(s)
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		c.host = tcp.IP.String()
	}
	c.in.c, c.out.c, c.auth.c, c.timers.c = c, c, c, c
	c.sock.init(conn)
	c.in.opts = defaultOptions()
	c.in.parse.Pedantic = c.in.opts.Pedantic
	c.trace = newTracer(c)
	c.auth.begin(s.cfg())
	return c
}

// serve runs the connection from its INFO to its end. When it returns, there is no writer any more.
func (c *client) serve() {
	c.debug("Client connection created")
	entered := (&opening{c: c}).run()
	c.timers.start()
	switch {
	case !entered:
	case c.rejected != nil:
		c.end(c.rejected)
	default:
		c.in.loop()
	}
	c.srv.readers.Done()
	if c.isOpen() { // the server is stopping: take messages that others still publish
		<-c.srv.readersDone
		c.shut(ServerShutdown, "")
	}
	c.retire()
	c.discardInput()
	<-c.writerDone
	c.timers.stop()
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

// end closes for a violation of the protocol or its limits.
func (c *client) end(v *violation) {
	if c.shut(v.reason, v.text) {
		c.logError(v)
	}
}

// logError logs why the connection ends, unless there were too many such lines recently.
func (c *client) logError(err error) {
	if left, ok := c.srv.errorLines.Take(); ok && left == 0 {
		c.logger().Error(err.Error())
	} else if ok {
		c.logger().Error(err.Error(), "left_out", left)
	}
}

// shut ends the connection: text goes out as the last -ERR if it is not empty, then the pending
// bytes are written, unless the reason rules that out. Only the first call has an effect; shut
// reports whether it was the first.
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
	c.stopReading()
}

// abort drops the pending bytes and ends reads and writes. c.mu is held.
func (c *client) abort() {
	c.aborted = true
	c.stop.Store(true)
	c.out.discard()
	c.conn.SetDeadline(past)
	c.out.releaseRouters()
	c.finishOutput()
}

func (c *client) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason == 0
}

func (c *client) logger() *slog.Logger {
	from := c.conn.RemoteAddr().String()
	switch c.from {
	case inProcess:
		from = "in-process"
	case onUnix:
		from = "unix"
	}
	return c.srv.cfg().Logger.With("client", from, "cid", c.id)
}

// discardInput reads on while the last bytes are written and, for a short time, after the end of
// the output: a client that sends before it reads could otherwise not receive its reason.
func (c *client) discardInput() {
	c.mu.Lock()
	if !c.finished && !c.aborted {
		c.conn.SetReadDeadline(time.Now().Add(c.srv.cfg().WriteDeadline))
	}
	c.mu.Unlock()
	io.CopyN(io.Discard, c.conn, drainBytes) // with or without an error, the connection is closed next
}

// drop ends the connection and drops the pending bytes.
func (c *client) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort()
}

// stopReading ends the reader's present or next read.
func (c *client) stopReading() {
	c.stop.Store(true)
	c.conn.SetReadDeadline(past)
}

// finishOutput ends the output once the connection has ended and its last byte has
// been written, or never will be. c.mu is held.
func (c *client) finishOutput() {
	if c.reason == 0 || c.finished || c.out.flushing || !c.listed && !c.aborted {
		return
	}
	c.finished = true
	close(c.writerDone)
	if c.transport != nil && !c.aborted {
		c.transport.closeNotify()
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

// LevelTrace is the level of the lines that Config.Trace asks for.
const LevelTrace = slog.LevelDebug - 4

// tracer logs the operations of one connection, as the reference server does: received ones with
// "<<-", sent ones with "->>".
type tracer struct {
	in, out protocol.Trace // of the reader, of the writer
}

// newTracer returns nil if nothing is traced. A connection is traced from its beginning or not at
// all: from the middle of a payload on, lines could not be distinguished from data.
func newTracer(c *client) *tracer {
	if !c.srv.cfg().Trace {
		return nil
	}
	log := func(arrow string) func(string) {
		return func(text string) {
			if c.srv.cfg().Trace {
				c.logger().Log(context.Background(), LevelTrace, arrow+" "+text)
			}
		}
	}
	return &tracer{in: protocol.Trace{Log: log("<<-")}, out: protocol.Trace{Log: log("->>")}}
}

// received logs the bytes of a read.
func (t *tracer) received(b []byte) {
	if t != nil {
		t.in.Feed(b)
	}
}

// sent logs n bytes that were written of a slab.
func (t *tracer) sent(s *slab, n int) {
	if t != nil && !s.control {
		t.out.Feed(s.unwritten()[:n])
	}
}
