package bus

import (
	"errors"
	"sync"
	"time"

	"paddock/bus/internal/websocket"
)

// transportPiece is the number of pending bytes that are sealed at once: it is copied, and cannot
// be dropped any more.
const transportPiece = 64 << 10

// sealedBufs are the buffers of sealed pieces while they wait for the socket.
var sealedBufs = sync.Pool{New: func() any {
	b := make([]byte, 0, maxSealed)
	return &b
}}

// transport is the layer between a client's protocol and its socket, if there is one: TLS,
// WebSocket, or one within the other. It neither reads nor writes itself: the reader passes its
// input through it, and the writer its output. A connection without has none, and pays nothing.
type transport struct {
	c   *client
	tls *tlsLayer // nil = none
	ws  *wsLayer  // nil = none

	// The writer's.
	sealed     *[]byte // nil = nothing is sealed
	from       int     // bytes before it were written
	plainBytes int     // bytes of the slab that sealed stands for

	// The reader's.
	err error // the error for which open has ended the reading
}

// open takes the bytes of a read of the socket, and handles their contents. It reports whether to
// go on.
func (w *transport) open(raw []byte) bool {
	if w.tls == nil {
		return w.unframe(raw)
	}
	w.tls.under.in = raw
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	for {
		n, done, err := w.tls.fill(block[:])
		if n > 0 && !w.unframe(block[:n]) {
			return false
		}
		if err != nil {
			w.err = err
			return false
		}
		if done {
			return true
		}
	}
}

// unframe handles decrypted bytes.
func (w *transport) unframe(b []byte) bool {
	if w.ws == nil {
		return w.c.in.handle(b)
	}
	return w.ws.open(b)
}

// write seals the rest of s, piece by piece, and writes it: the bytes that the kernel takes at
// once, or with wait some of one piece. n counts bytes of s, when the last byte that stands for
// them has been written.
func (w *transport) write(s *slab, wait bool) (n int, err error) {
	for rest := s.unwritten(); ; {
		if w.sealed == nil {
			if len(rest) == 0 || wait && n > 0 {
				return n, nil
			}
			if err := w.seal(rest[:min(len(rest), transportPiece)], s.control); err != nil {
				return n, err
			}
		}
		var m int
		if b := (*w.sealed)[w.from:]; wait {
			m, err = w.c.sock.write(b)
		} else {
			m, err = w.c.sock.tryWrite(b)
		}
		w.from += m
		if w.from < len(*w.sealed) {
			return n, err
		}
		n += w.plainBytes
		rest = rest[w.plainBytes:]
		w.clear()
		if err != nil {
			return n, err
		}
	}
}

// seal turns a piece into the bytes for the socket. A control frame is one already.
func (w *transport) seal(piece []byte, control bool) (err error) {
	w.sealed = sealedBufs.Get().(*[]byte)
	w.from, w.plainBytes = 0, len(piece)
	b := (*w.sealed)[:0]
	switch {
	case w.ws == nil || control:
	case w.tls == nil:
		*w.sealed = w.ws.seal(b, piece)
		return nil
	default:
		frame := sealedBufs.Get().(*[]byte)
		defer sealedBufs.Put(frame)
		piece = w.ws.seal((*frame)[:0], piece)
	}
	if w.tls == nil {
		b = append(b, piece...)
	} else {
		b, err = w.tls.seal(b, piece)
	}
	*w.sealed = b
	if err != nil {
		w.clear() // TLS returns the same error the next time
	}
	return err
}

// clear drops the written bytes.
func (w *transport) clear() {
	if cap(*w.sealed) == maxSealed {
		*w.sealed = (*w.sealed)[:0]
		sealedBufs.Put(w.sealed)
	}
	w.sealed = nil
}

// closeNotify writes the alert that ends the output of TLS, if the socket takes it at once. c.mu is
// held, and there is no writer.
func (w *transport) closeNotify() {
	if w.tls == nil || !w.c.sock.canTry() {
		return
	}
	if b := w.tls.closeNotify(); len(b) > 0 {
		w.c.sock.tryWrite(b)
	}
}

const (
	// maxOperation is the length of an operation beyond its arguments and payload: opcode,
	// separators, line ends.
	maxOperation = 16
	// gathered is the number of bytes that a client sends as one message of WebSocket, with one
	// publication more: nats.go keeps as many while it is away.
	gathered = 8 << 20
	// gatheredPayloads and gatheredMost bound what the reference server takes: so many times
	// max_payload, or so many bytes.
	gatheredPayloads = 8
	gatheredMost     = 64 << 20
)

// wsLayer is WebSocket between a client's socket and its protocol: the reader's side takes frames
// apart, the writer's makes one message of each piece that is written.
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
		l.c.logError(broken)
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

// Limit returns the bound on a deflated message. A client that has no user yet sends CONNECT alone.
// Others send many publications in one message.
func (l *wsLayer) Limit() int {
	n := l.c.in.parse.MaxLine + maxOperation
	if l.c.auth.authorized.Load() {
		payload := l.c.in.parse.MaxPayload
		n += max(gathered+payload, min(gatheredPayloads*payload, gatheredMost))
	}
	return n
}

// seal adds the message for b to dst.
func (l *wsLayer) seal(dst, b []byte) []byte { return websocket.AppendMessage(dst, b, l.deflate) }
