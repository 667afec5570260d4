package bus

import (
	"errors"
	"os"
	"time"
)

// tlsRecord is the first byte of a TLS handshake, which begins no operation of the
// protocol.
const tlsRecord = 0x16

// enter takes the connection through its door: INFO, and the handshakes that come before or after
// it. While they last, the connection's goroutine has the writer's role: messages of others for the
// client wait. It reports whether the client is in; if not, the connection has ended.
func (c *client) enter() (in bool) {
	defer func() {
		if fault := recover(); fault != nil {
			c.srv.faulted(c.logger(), "a connection's handshake has panicked", fault)
			c.shut(ReadError, "")
			if c.ownsWriter {
				c.release(nil)
			}
			in = false
		}
	}()
	cfg := c.srv.cfg()
	if cfg.TLS != nil && (c.door == doorTCP || c.door == doorInProcess) {
		return c.enterTLS(cfg.TLS)
	}
	if c.door == doorWebSocket {
		return c.enterWebSocket(cfg.WebSocket)
	}
	c.greet()
	return true
}

// greet sends INFO.
func (c *client) greet() {
	c.out.send(c.srv.infoLine(c, false))
	c.out.flush()
}

func (c *client) enterTLS(t *TLS) bool {
	c.takeWriter()
	var begun []byte // read to detect TLS
	first := t.HandshakeFirst && c.rejected == nil
	c.tlsFirst.Store(first)
	if wait := c.fallback(t); first && wait > 0 {
		begun = c.peek(wait)
		c.tlsFirst.Store(len(begun) > 0)
	}
	if !c.tlsFirst.Load() && c.tell() != nil {
		c.release(nil)
		c.shut(WriteError, "")
		return false
	}
	if c.rejected != nil {
		c.release(nil)
		return true
	}
	if !c.tlsFirst.Load() && (t.AllowNonTLS || c.door == doorInProcess) {
		if begun = c.peek(t.Timeout); len(begun) == 0 || begun[0] != tlsRecord {
			c.early = begun
			c.release(nil)
			return true
		}
	}
	w, err := c.negotiate(t, begun)
	c.release(w)
	if err != nil {
		if v, ok := errors.AsType[*violation](err); ok {
			c.end(v)
		}
		return false // or the server stops, which serve deals with
	}
	if c.tlsFirst.Load() {
		c.greet()
	}
	return true
}

// fallback is how long a client that may begin with TLS is waited for; 0 = it has
// to. In process it never has to.
func (c *client) fallback(t *TLS) time.Duration {
	if t.Fallback == 0 && c.door == doorInProcess {
		return DefaultTLSFallback
	}
	return t.Fallback
}

// negotiate performs the TLS handshake, and checks certificates.
func (c *client) negotiate(t *TLS, begun []byte) (*transport, error) {
	if !c.srv.throttle.allow(t.Rate) {
		return nil, errThrottled
	}
	layer, err := c.secure(t.Config, begun, time.Now().Add(t.Timeout))
	if err != nil {
		return nil, err
	}
	if !layer.pinned(t.PinnedCerts) {
		c.logger().Debug("TLS: the client's key is not pinned")
		return nil, errHandshake
	}
	if certs := layer.conn.ConnectionState().PeerCertificates; t.MapUsers && len(certs) > 0 {
		names := certificateNames(certs[0])
		c.mu.Lock()
		c.mapped = names
		c.mu.Unlock()
	}
	return &transport{c: c, tls: layer}, nil
}

// takeWriter takes the writer's role before anything has been written.
func (c *client) takeWriter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.flushing, c.ownsWriter = true, true
}

// release gives the writer's role back, sets the transport, and writes the output that has gathered
// meanwhile.
func (c *client) release(w *transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w != nil && w.tls != nil {
		w.tls.hold()
	}
	c.transport = w
	c.out.flushing, c.ownsWriter = false, false
	c.out.flushLocked()
}

// tell writes INFO at once. The caller has the writer's role.
func (c *client) tell() error {
	c.waitUntil(time.Now().Add(c.srv.cfg().WriteDeadline))
	_, err := c.conn.Write(c.srv.infoLine(c, false))
	c.waitUntil(time.Time{})
	return err
}

// peek waits for the first byte; nil = none came.
func (c *client) peek(wait time.Duration) []byte {
	c.waitUntil(time.Now().Add(wait))
	b := make([]byte, 1)
	n, err := c.conn.Read(b)
	c.waitUntil(time.Time{})
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil // the next read says the same
	}
	return b[:n]
}

// waitUntil sets the deadline of reads and writes, unless the connection has been
// stopped, which has set its own.
func (c *client) waitUntil(at time.Time) {
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
