package wire

import (
	"context"
	"errors"
	"net"

	"paddock/internal/wire/frame"
)

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
