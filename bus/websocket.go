package bus

import (
	"errors"
	"io"
	"time"

	"paddock/bus/internal/websocket"
)

// operationMost is the length of an operation beyond its arguments and payload: opcode, separators,
// line ends.
const operationMost = 16

// wsLayer is WebSocket between a client's socket and its protocol: the reader's
// side takes frames apart, the writer's makes one message of each piece that is
// written.
type wsLayer struct {
	c       *client
	in      websocket.Reader
	deflate bool
}

var _ websocket.Sink = (*wsLayer)(nil)

// open handles the frames in b. It reports whether to go on.
func (l *wsLayer) open(b []byte) bool {
	l.c.lastInput.Store(time.Now().UnixNano()) // frames without data are a sign of life
	err := l.in.Feed(b, l)
	if broken, ok := errors.AsType[*websocket.Error](err); ok {
		l.c.out.setCloseFrame(broken.Code, broken.Text)
		l.c.fault(broken)
		l.c.shut(ProtocolViolation, "")
	}
	return err == nil
}

func (l *wsLayer) Data(b []byte) bool { return l.c.handle(b) }

// Ping has the latest one answered: there is no need for more, RFC 6455 section
// 5.5.3, so that a client that sends many and does not read gathers nothing.
func (l *wsLayer) Ping(payload []byte) {
	l.c.mu.Lock()
	if l.c.reason == 0 {
		l.c.out.setUrgent(websocket.AppendFrame(nil, websocket.OpPong, payload))
	}
	l.c.mu.Unlock()
	l.c.out.flush()
}

// Closed answers with the same close frame.
func (l *wsLayer) Closed(code int, text string) {
	l.c.out.setCloseFrame(code, text)
	l.c.shut(ClientClosed, "")
}

// Limit: before a client is known it has nothing to say but CONNECT.
func (l *wsLayer) Limit() int {
	n := l.c.parse.MaxLine + operationMost
	if l.c.authorized.Load() {
		n += l.c.parse.MaxPayload
	}
	return n
}

// seal adds the message for b to dst.
func (l *wsLayer) seal(dst, b []byte) []byte { return websocket.AppendMessage(dst, b, l.deflate) }

// closeCode is the code for a reason.
func (r CloseReason) closeCode() int {
	switch r {
	case ClientClosed:
		return websocket.CloseNormal
	case AuthenticationTimeout, AuthenticationFailure, SlowConsumerPendingBytes, SlowConsumerWriteDeadline,
		MaxConnectionsExceeded, MaxControlLineExceeded:
		return websocket.ClosePolicy
	case ParseError, ProtocolViolation, BadClientProtocolVersion:
		return websocket.CloseProtocolError
	case MaxPayloadExceeded:
		return websocket.CloseTooBig
	case WriteError, ReadError, StaleConnection, ServerShutdown:
		return websocket.CloseGoingAway
	default:
		return websocket.CloseServerError
	}
}

func (c *client) enterWebSocket(w *WebSocket) bool {
	c.takeWriter()
	deadline := time.Now().Add(w.HandshakeTimeout)
	between := &transport{c: c}
	stream := io.ReadWriter(c.conn)
	if w.TLS != nil {
		layer, err := c.secure(w.TLS, nil, deadline)
		if err != nil {
			c.release(nil)
			if !errors.Is(err, errStopping) {
				c.end(errHandshake) // a web page cannot read more
			}
			return false
		}
		between.tls, stream = layer, layer.conn
	}
	c.waitUntil(deadline)
	deflate, err := websocket.Upgrade(stream, w.policy())
	c.waitUntil(time.Time{})
	if err != nil {
		c.release(between.unless(w.TLS == nil))
		c.refuseUpgrade(err)
		return false
	}
	between.ws = &wsLayer{c: c, in: websocket.Reader{Deflate: deflate}, deflate: deflate}
	c.release(between)
	c.greet()
	return true
}

// policy returns the requirements of w for handshakes.
func (w *WebSocket) policy() *websocket.Policy {
	return &websocket.Policy{
		TLS: w.TLS != nil, SameOrigin: w.SameOrigin, LocalNames: w.LocalNames,
		AllowedOrigins: w.AllowedOrigins, Compression: w.Compression,
	}
}

// refuseUpgrade ends a connection that has not come to be one of WebSocket, unless
// it is the server that ends.
func (c *client) refuseUpgrade(err error) {
	switch _, refused := errors.AsType[*websocket.HandshakeError](err); {
	case refused:
		c.fault(err)
		c.shut(ProtocolViolation, "")
	case errors.Is(err, io.EOF):
		c.shut(ClientClosed, "")
	case !c.stop.Load():
		c.shut(ReadError, "")
	}
}

// unless is w, or nil if there is nothing in it.
func (w *transport) unless(empty bool) *transport {
	if empty {
		return nil
	}
	return w
}
