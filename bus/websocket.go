package bus

import (
	"errors"
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
	l.c.timers.lastInput.Store(time.Now().UnixNano()) // frames without data are a sign of life
	err := l.in.Feed(b, l)
	if broken, ok := errors.AsType[*websocket.Error](err); ok {
		l.c.out.setCloseFrame(broken.Code, broken.Text)
		l.c.fault(broken)
		l.c.shut(ProtocolViolation, "")
	}
	return err == nil
}

func (l *wsLayer) Data(b []byte) bool { return l.c.in.handle(b) }

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
	n := l.c.in.parse.MaxLine + operationMost
	if l.c.auth.authorized.Load() {
		n += l.c.in.parse.MaxPayload
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

// policy returns the requirements of w for handshakes.
func (w *WebSocket) policy() *websocket.Policy {
	return &websocket.Policy{
		TLS: w.TLS != nil, SameOrigin: w.SameOrigin, LocalNames: w.LocalNames,
		AllowedOrigins: w.AllowedOrigins, Compression: w.Compression,
	}
}
