package bus

import (
	"errors"
	"fmt"
	"os"
	"time"

	"paddock/bus/internal/websocket"
)

const (
	// inlineFlush bounds the bytes that a goroutine that has routed a batch writes for one
	// destination. The rest is left to a goroutine of its own, so that no router waits long for one
	// busy destination.
	inlineFlush = 256 << 10
	// writePiece is the length of one write that waits. Where the system gives no access to the
	// socket, a peer shows that it reads by each whole piece.
	writePiece = 16 << 10
	// protocolRoom is the number of bytes beyond max_pending that protocol bytes may take under the
	// policies that drop messages.
	protocolRoom = 64 << 10
)

// writer is the output side of a client: the pending output, and its way to the socket. The
// client's lock guards it.
type writer struct {
	output
	c *client
	// room is closed when the output is no longer nearly full; nil = no router waits for it.
	room       chan struct{}
	closeFrame []byte // the last frame of WebSocket; nil = the one of the reason
}

// send adds protocol bytes, which are never dropped. Their amount is bounded by the bytes that the
// client itself sends, and together with messages by max_pending; under the policies that drop,
// they have protocolRoom beyond it. The caller has to flush them.
func (w *writer) send(b ...[]byte) {
	w.c.mu.Lock()
	slow := w.sendLocked(b...)
	w.c.mu.Unlock()
	if slow {
		w.logSlow()
	}
}

// sendLocked does the same with c.mu held. It reports whether that has closed the connection.
func (w *writer) sendLocked(b ...[]byte) (slow bool) {
	if w.c.reason != 0 {
		return false
	}
	bound := w.c.srv.cfg().MaxPending
	switch w.c.srv.cfg().SlowConsumers {
	case SlowDropNew, SlowDropOld:
		bound += protocolRoom // messages keep to max_pending
	}
	w.append(b...)
	if slow = w.pending > bound; slow {
		w.c.closeFor(SlowConsumerPendingBytes)
	}
	return slow
}

func (w *writer) logSlow() {
	w.c.logger().Warn(fmt.Sprintf("Slow Consumer Detected: MaxPending of %d Exceeded", w.c.srv.cfg().MaxPending))
}

// flush writes the pending output without waiting, unless another goroutine is writing: that one
// writes the added bytes too.
func (w *writer) flush() {
	w.c.mu.Lock()
	w.flushLocked()
	w.c.mu.Unlock()
}

// flushLocked does the same with c.mu held, which it releases during the writes.
func (w *writer) flushLocked() {
	c := w.c
	switch {
	case w.flushing:
		return
	case w.pending == 0:
		c.finishOutput()
		return
	}
	w.flushing = true
	if !c.sock.canTry() {
		w.startLoop()
		return
	}
	budget, whole := inlineFlush, true
	for whole && budget > 0 && w.next() {
		c.mu.Unlock()
		n, err := w.tryWrite(w.inFlight)
		c.trace.sent(w.inFlight, n)
		c.mu.Lock()
		budget -= n
		whole = w.wrote(n) && err == nil // else the loop meets the error too
	}
	c.srv.counters.flushes.observe(inlineFlush - budget)
	if !whole || w.pending > 0 {
		w.startLoop()
		return
	}
	w.endWrite()
	c.finishOutput()
}

// tryWrite writes the bytes of s that the kernel takes at once.
func (w *writer) tryWrite(s *slab) (n int, err error) {
	if w.c.transport != nil {
		return w.c.transport.write(s, false)
	}
	return w.c.sock.tryWrite(s.unwritten())
}

// write writes some bytes of s, and waits for a socket that takes none. With a transport n may be 0
// without an error: bytes have been taken, but none that ends a piece.
func (w *writer) write(s *slab) (n int, err error) {
	if w.c.transport != nil {
		return w.c.transport.write(s, true)
	}
	return w.c.sock.write(s.unwritten())
}

// startLoop leaves the writing to a goroutine, which may wait. c.mu is held, and the caller has the
// writer's role.
func (w *writer) startLoop() {
	w.blocking, w.moved = true, time.Now()
	w.c.timers.advance()
	w.c.srv.running.Go(w.loop)
}

// loop has the writer's role until nothing is pending or a write fails. serve does not return
// before that.
func (w *writer) loop() {
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for w.next() {
		c.mu.Unlock()
		n, err := w.write(w.inFlight)
		c.trace.sent(w.inFlight, n)
		c.srv.counters.flushes.observe(n)
		c.mu.Lock()
		w.wrote(n)
		if w.pending > 0 && c.reason == 0 { // the last bytes of an ended connection have one deadline
			w.moved = time.Now()
		}
		if w.pending < c.srv.stallAt() {
			w.releaseRouters()
		}
		if err != nil {
			w.failed(err)
			break
		}
	}
	w.endWrite()
	c.finishOutput()
}

// expire ends a connection that has not taken a byte in time. The first reason may have been a
// gentle one: nothing more is written.
func (w *writer) expire() {
	c := w.c
	c.mu.Lock()
	first, bytes := c.reason == 0, w.pending
	if first {
		c.closeFor(SlowConsumerWriteDeadline)
	} else {
		c.abort()
	}
	c.mu.Unlock()
	if first {
		// The pending bytes are one chunk here; the sentence is the one that tools know.
		c.logger().Warn(fmt.Sprintf("Slow Consumer Detected: WriteDeadline of %v exceeded with 1 chunks of %d total bytes.",
			c.srv.cfg().WriteDeadline, bytes))
	}
}

// failed ends the connection after a failed write. The peer cannot be reached. c.mu is held.
func (w *writer) failed(err error) {
	if w.c.reason == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.c.closeFor(WriteError)
	}
	w.c.abort()
	w.dropInFlight()
}

// releaseRouters ends the wait of the routers that have found the output nearly full. c.mu is held.
func (w *writer) releaseRouters() {
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// setCloseFrame sets the last frame, in place of the one that follows from the reason for the end.
func (w *writer) setCloseFrame(code int, text string) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.closeFrame = websocket.CloseFrame(code, text)
}

// endWebSocket leaves the close frame to be written last, if there is WebSocket. c.mu is held.
func (w *writer) endWebSocket(reason CloseReason) {
	if w.c.transport == nil || w.c.transport.ws == nil || w.c.aborted {
		return
	}
	if w.closeFrame == nil {
		w.closeFrame = websocket.CloseFrame(reason.closeCode(), reason.String())
	}
	w.setLast(w.closeFrame)
}
