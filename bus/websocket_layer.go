package bus

import (
	"errors"
	"time"
)

// wsLayer is WebSocket between a client's socket and its protocol: the reader's
// side takes frames apart, the writer's makes one message of each piece that is
// written.
type wsLayer struct {
	c       *client
	in      wsReader
	deflate bool
}

var _ wsSink = (*wsLayer)(nil)

// open handles the frames in b. It reports whether to go on.
func (l *wsLayer) open(b []byte) bool {
	l.c.lastInput.Store(time.Now().UnixNano()) // frames without data are a sign of life
	err := l.in.feed(b, l)
	if broken, ok := errors.AsType[*wsError](err); ok {
		l.c.setLast(closeFrame(broken.code, broken.text))
		l.c.fault(broken)
		l.c.shut(ProtocolViolation, "")
	}
	return err == nil
}

func (l *wsLayer) data(b []byte) bool { return l.c.handle(b) }

// ping has the latest one answered: there is no need for more, RFC 6455 section
// 5.5.3, so that a client that sends many and does not read gathers nothing.
func (l *wsLayer) ping(payload []byte) {
	l.c.mu.Lock()
	if l.c.reason == 0 {
		l.c.out.setUrgent(appendFrame(nil, wsPong, payload))
	}
	l.c.mu.Unlock()
	l.c.flush()
}

// closed answers with what was said.
func (l *wsLayer) closed(code int, text string) {
	l.c.setLast(closeFrame(code, text))
	l.c.shut(ClientClosed, "")
}

// limit: before a client is known it has nothing to say but CONNECT.
func (l *wsLayer) limit() int {
	n := l.c.parse.maxLine + operationMost
	if l.c.authorized.Load() {
		n += l.c.parse.maxPayload
	}
	return n
}

// seal adds the message for b to dst.
func (l *wsLayer) seal(dst, b []byte) []byte { return appendMessage(dst, b, l.deflate) }

// setLast says what the last frame is to be, in place of what the reason for the
// end says.
func (c *client) setLast(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastFrame = frame
}

// sayWhy leaves the close frame to be written last. c.mu is held.
func (c *client) sayWhy(reason CloseReason) {
	if c.wire == nil || c.wire.ws == nil || c.aborted {
		return
	}
	if c.lastFrame == nil {
		c.lastFrame = closeFrame(reason.closeCode(), reason.String())
	}
	c.out.setLast(c.lastFrame)
}
