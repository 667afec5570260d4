package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"paddock/bus/internal/auth"
	"paddock/bus/internal/websocket"
)

// tlsRecord is the first byte of a TLS handshake, which begins no operation of the protocol.
const tlsRecord = 0x16

// opening takes a new client through its listener: INFO, and the handshakes that come before or
// after it. While they last, the client's goroutine has the writer's role: messages of others for
// the client wait.
type opening struct {
	c          *client
	ownsWriter bool
}

// run reports whether the client is in; if not, the connection has ended.
func (h *opening) run() (in bool) {
	c := h.c
	defer func() {
		if fault := recover(); fault != nil {
			c.srv.logPanic(c.logger(), "a connection's handshake has panicked", fault)
			c.shut(ReadError, "")
			if h.ownsWriter {
				h.release(nil)
			}
			in = false
		}
	}()
	cfg := c.srv.cfg()
	if cfg.TLS != nil && (c.from == onTCP || c.from == inProcess) {
		return h.enterTLS(cfg.TLS)
	}
	if c.from == onWebSocket {
		return h.enterWebSocket(cfg.WebSocket)
	}
	h.greet()
	return true
}

// greet sends INFO.
func (h *opening) greet() {
	h.c.out.send(h.c.srv.infoLine(h.c, false))
	h.c.out.flush()
}

func (h *opening) enterTLS(t *TLS) bool {
	c := h.c
	h.takeWriter()
	var begun []byte // read to detect TLS
	first := t.HandshakeFirst && c.rejected == nil
	if wait := h.fallback(t); first && wait > 0 {
		begun = h.peek(wait)
		first = len(begun) > 0
	}
	c.tlsFirst.Store(first)
	if !first && h.writeInfo() != nil {
		h.release(nil)
		c.shut(WriteError, "")
		return false
	}
	if c.rejected != nil {
		h.release(nil)
		return true
	}
	if !first && (t.AllowNonTLS || c.from == inProcess) {
		if begun = h.peek(t.Timeout); len(begun) == 0 || begun[0] != tlsRecord {
			c.in.unread = begun
			h.release(nil)
			return true
		}
	}
	layer, err := h.negotiate(t, begun)
	h.release(layer)
	if err != nil {
		if v, ok := errors.AsType[*violation](err); ok {
			c.end(v)
		}
		return false // or the server stops, which serve deals with
	}
	if first {
		h.greet()
	}
	return true
}

// fallback returns the time for which a client that may begin with TLS is waited for; 0 = it has
// to. In process it never has to.
func (h *opening) fallback(t *TLS) time.Duration {
	if t.Fallback == 0 && h.c.from == inProcess {
		return DefaultTLSFallback
	}
	return t.Fallback
}

// negotiate performs the TLS handshake, and checks certificates.
func (h *opening) negotiate(t *TLS, begun []byte) (*transport, error) {
	c := h.c
	if !c.srv.throttle.allow(t.Rate) {
		return nil, errThrottled
	}
	layer, err := h.secure(t.Config, begun, time.Now().Add(t.Timeout))
	if err != nil {
		return nil, err
	}
	if !layer.pinned(t.PinnedCerts) {
		c.logger().Debug("TLS: the client's key is not pinned")
		return nil, errHandshake
	}
	if certs := layer.conn.ConnectionState().PeerCertificates; t.MapUsers && len(certs) > 0 {
		names := auth.CertificateNames(certs[0])
		c.mu.Lock()
		c.auth.certNames = names
		c.mu.Unlock()
	}
	return &transport{c: c, tls: layer}, nil
}

// secure does the TLS handshake as the server, until the deadline. first holds the bytes that were
// read already.
func (h *opening) secure(cfg *tls.Config, first []byte, deadline time.Time) (*tlsLayer, error) {
	c := h.c
	under := &tlsSocket{Conn: c.conn, in: first, silent: len(first) == 0}
	conn := tls.Server(under, cfg)
	ctx, cancel := context.WithDeadline(c.srv.ctx, deadline)
	defer cancel()
	err := c.srv.handshakes.Do(ctx, c.conn, nil, func(shaking net.Conn) error {
		under.Conn = shaking
		defer func() { under.Conn = c.conn }()
		h.waitUntil(deadline)
		defer h.waitUntil(time.Time{})
		return conn.Handshake()
	})
	switch {
	case err == nil:
		state := conn.ConnectionState()
		return &tlsLayer{conn, under, describe(&state, c.tlsFirst.Load())}, nil
	case errors.Is(err, context.Canceled), c.stop.Load() && errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errStopping
	case errors.Is(err, os.ErrDeadlineExceeded) && under.silent:
		return nil, errNoHandshake
	default:
		c.logger().Debug("TLS handshake error", "error", err)
		return nil, errHandshake
	}
}

func (h *opening) enterWebSocket(w *WebSocket) bool {
	c := h.c
	h.takeWriter()
	deadline := time.Now().Add(w.HandshakeTimeout)
	var secure *transport // nil = no TLS
	stream := io.ReadWriter(c.conn)
	if w.TLS != nil {
		layer, err := h.secure(w.TLS, nil, deadline)
		if err != nil {
			h.release(nil)
			if !errors.Is(err, errStopping) {
				c.end(errHandshake) // a web page cannot read more
			}
			return false
		}
		secure, stream = &transport{c: c, tls: layer}, layer.conn
	}
	h.waitUntil(deadline)
	deflate, err := websocket.Upgrade(stream, w.policy())
	h.waitUntil(time.Time{})
	if err != nil {
		h.release(secure)
		h.refuseUpgrade(err)
		return false
	}
	if secure == nil {
		secure = &transport{c: c}
	}
	secure.ws = &wsLayer{c: c, in: websocket.Reader{Deflate: deflate}, deflate: deflate}
	h.release(secure)
	h.greet()
	return true
}

// refuseUpgrade ends a connection that has not come to be one of WebSocket, unless it is the server
// that ends.
func (h *opening) refuseUpgrade(err error) {
	c := h.c
	switch _, refused := errors.AsType[*websocket.HandshakeError](err); {
	case refused:
		c.logError(err)
		c.shut(ProtocolViolation, "")
	case errors.Is(err, io.EOF):
		c.shut(ClientClosed, "")
	case !c.stop.Load():
		c.shut(ReadError, "")
	}
}

// takeWriter takes the writer's role before anything has been written.
func (h *opening) takeWriter() {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	h.c.out.flushing, h.ownsWriter = true, true
}

// release gives the writer's role back, sets the transport, and writes the output that has gathered
// meanwhile.
func (h *opening) release(t *transport) {
	h.c.mu.Lock()
	defer h.c.mu.Unlock()
	if t != nil && t.tls != nil {
		t.tls.detach()
	}
	h.c.transport = t
	h.c.out.flushing, h.ownsWriter = false, false
	h.c.out.flushLocked()
}

// writeInfo writes INFO at once. The caller has the writer's role.
func (h *opening) writeInfo() error {
	h.waitUntil(time.Now().Add(h.c.srv.cfg().WriteDeadline))
	defer h.waitUntil(time.Time{})
	_, err := h.c.conn.Write(h.c.srv.infoLine(h.c, false))
	return err
}

// peek waits for the first byte; nil = none came.
func (h *opening) peek(wait time.Duration) []byte {
	h.waitUntil(time.Now().Add(wait))
	defer h.waitUntil(time.Time{})
	b := make([]byte, 1)
	n, err := h.c.conn.Read(b)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // the next read fails in the same way
	}
	return b[:n]
}

// waitUntil sets the deadline of reads and writes, unless the connection has been stopped, which
// has set its own.
func (h *opening) waitUntil(at time.Time) {
	c := h.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.aborted {
		return
	}
	c.conn.SetDeadline(at)
	if c.stop.Load() {
		c.conn.SetReadDeadline(past)
	}
}
