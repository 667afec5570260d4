package wire

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

// defaultBacklog is how many streams may wait for Accept.
const defaultBacklog = 128

// backlogRetry is when a peer may try again that found the backlog full.
const backlogRetry = time.Second

// Listener accepts the streams of a kind that peers open, on all connections that
// serve its Mux, as a net.Listener: http.Serve and the like run over it. What is
// accepted is a *Stream.
//
// At most 128 streams wait for Accept; further ones are refused with
// RESOURCE_EXHAUSTED. An accepted stream lasts until it is closed, by its owner, by
// a reset of the peer, or with its connection.
type Listener struct {
	kind string

	mu      sync.Mutex
	waiting []*waiter // guarded by mu, oldest first
	closed  bool      // guarded by mu
	changed gate      // guarded by mu; something waits, or the listener is closed
	full    uint64    // guarded by mu; streams that found no room
}

// waiter is a stream that has not been accepted yet.
type waiter struct {
	stream  *Stream
	refused chan struct{} // closed by Close
}

var _ net.Listener = (*Listener)(nil)

// Listener registers a handler of streams that hands them to Accept.
func (m *Mux) Listener(kind string) *Listener {
	l := &Listener{kind: kind}
	m.HandleStream(kind, l.serve)
	return l
}

// Accept waits for a stream. After Close the error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	s, err := l.AcceptStream(context.Background())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// AcceptStream is Accept with a context.
func (l *Listener) AcceptStream(ctx context.Context) (*Stream, error) {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, &net.OpError{Op: "accept", Net: "wire", Addr: l.Addr(), Err: net.ErrClosed}
		}
		if len(l.waiting) > 0 {
			s := l.waiting[0].stream
			l.waiting = slices.Delete(l.waiting, 0, 1)
			l.mu.Unlock()
			_ = s.Accept(nil) // for a peer that has opened it with Confirm
			return s, nil
		}
		changed := l.changed.wait()
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// serve is the handler of a stream. It returns when the stream has no owner any more.
func (l *Listener) serve(ctx context.Context, s *Stream) error {
	w := &waiter{s, make(chan struct{})}
	if err := l.enqueue(w); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		l.dequeue(w)
		return nil
	case <-w.refused:
		return errListenerClosed
	}
}

var errListenerClosed = &Error{Code: Unavailable, Msg: "nobody accepts these streams any more", NotStarted: true}

func (l *Listener) enqueue(w *waiter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return errListenerClosed
	case len(l.waiting) >= defaultBacklog:
		l.full++
		return &Error{
			Code: ResourceExhausted, Msg: "too many streams wait to be accepted",
			NotStarted: true, RetryAfter: backlogRetry,
		}
	}
	l.waiting = append(l.waiting, w)
	l.changed.open()
	return nil
}

// dequeue removes a stream that has ended, if it still waits.
func (l *Listener) dequeue(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
}

// Close refuses the streams that wait, and those to come, with UNAVAILABLE. What
// was accepted stays.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.open()
	for _, w := range l.waiting {
		close(w.refused)
	}
	l.waiting = nil
	return nil
}

// Refused is how many streams found the backlog full.
func (l *Listener) Refused() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Addr has the network "wire" and the kind as address.
func (l *Listener) Addr() net.Addr { return kindAddr(l.kind) }

type kindAddr string

func (kindAddr) Network() string  { return "wire" }
func (a kindAddr) String() string { return string(a) }

// allowed asks Config.Authorize.
func (c *Conn) allowed(h *handler) error {
	if c.config.Authorize == nil {
		return nil
	}
	err := c.config.Authorize(c, h.kind)
	var e *Error
	if err != nil && !errors.As(err, &e) {
		err = &Error{Code: PermissionDenied, Msg: err.Error(), NotStarted: true}
	}
	return err
}

// deliverStream starts the handler of a stream that the peer has opened. There are
// never more of these than slots that the peer may hold.
func (c *Conn) deliverStream(d *delivery) {
	s := d.stream
	if len(d.body) > 0 {
		s.push(&c.in, d.body, d.flags&frame.FlagEnd)
	} else if d.flags&frame.FlagEnd != 0 {
		s.push(&c.in, nil, frame.FlagEnd)
	}
	if d.handler.stream == nil {
		c.finishStream(s, &Error{Code: Unimplemented, Msg: "no handler for streams of " + s.kind, NotStarted: true})
		return
	}
	c.mu.Lock()
	s.ctx, s.cancel = context.WithCancelCause(c.ctx)
	c.running[s.kind]++
	c.mu.Unlock()
	c.tasks.Add(1)
	go c.serveStream(d.handler, s)
}

// serveStream runs a handler; it is the goroutine of the stream.
func (c *Conn) serveStream(h *handler, s *Stream) {
	defer c.tasks.Done()
	err := c.runStream(h, s)
	c.mu.Lock()
	c.left(s.kind)
	c.mu.Unlock()
	c.finishStream(s, err)
	s.cancel(context.Canceled)
}

// left counts a handler that has returned. c.mu is held.
func (c *Conn) left(kind string) {
	if c.running[kind]--; c.running[kind] <= 0 {
		delete(c.running, kind)
	}
}

// runStream calls the handler. A panic becomes an error.
func (c *Conn) runStream(h *handler, s *Stream) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = c.panicked(h, cause)
		}
	}()
	if err := c.allowed(h); err != nil {
		return err
	}
	return h.stream(s.ctx, s)
}

// finishStream ends a stream whose handler has returned err: with END, or the
// error.
func (c *Conn) finishStream(s *Stream, err error) {
	c.mu.Lock()
	if err != nil {
		_ = c.m.Fail(s.id, asError(err))
	} else {
		_ = s.endWriteLocked()
	}
	s.stopLocked(net.ErrClosed)
	c.finishSlot(s.id)
	c.flushAndUnlock(false)
	s.end(net.ErrClosed)
}

// finishSlot ends a slot of the peer's whose handler has returned. A handler that
// has closed its stream may return late, when the slot has another one. c.mu is held.
func (c *Conn) finishSlot(id frame.Slot) (was remote) {
	if c.closed {
		return remote{}
	}
	c.m.Done(id)
	if i := int(id.Index()); i <= len(c.theirs) && c.theirs[i-1].is(id) {
		was, c.theirs[i-1] = c.theirs[i-1], remote{}
	}
	c.settled()
	return was
}
