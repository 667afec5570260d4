package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime/debug"

	"paddock/internal/wire/frame"
)

// batchReplies is the number of bytes of inline answers above which they are put into the output.
const batchReplies = 64 << 10

// inlineAnswers gathers the answers of inline handlers, and the credit of their posts, until they
// are put into the output together. It belongs to the dispatcher.
type inlineAnswers struct {
	c         *Conn
	replies   []byte
	list      []answer
	postsDone int // bytes whose handlers have returned
	long      int // guarded by Conn.mu; bytes of long answers that wait for credit
}

// answer is that of an inline handler: bytes of inlineAnswers.replies, or an error.
type answer struct {
	slot     frame.Slot
	from, to int
	err      error
}

// add calls an inline handler and notes its answer.
func (a *inlineAnswers) add(h *handler, d *delivery) {
	at := len(a.replies)
	replies, err := a.call(h, d.body)
	if err == nil {
		a.replies = replies
	}
	a.list = append(a.list, answer{slot: d.slot, from: at, to: len(a.replies), err: err})
	if len(a.replies) > batchReplies || len(a.list) >= batchFrames {
		a.flush()
	}
}

// call calls an inline handler, which appends its answer to the replies. A panic becomes an error.
func (a *inlineAnswers) call(h *handler, body []byte) (replies []byte, err error) {
	defer a.c.handlers.recovered(h, &err)
	if err := a.c.handlers.allowed(h); err != nil {
		return nil, err
	}
	return h.answer(a.c.ctx, body, a.replies)
}

// flush puts the answers into the output. They leave when the reader has handled all received
// frames.
func (a *inlineAnswers) flush() {
	if len(a.list) == 0 && a.postsDone == 0 {
		return
	}
	a.c.mu.Lock()
	for i := range a.list {
		one := &a.list[i]
		a.send(one.slot, a.replies[one.from:one.to], one.err)
		one.err = nil
	}
	if a.postsDone > 0 {
		a.c.m.PostsDone(a.postsDone)
		a.postsDone = 0
	}
	a.c.mu.Unlock()
	a.list = a.list[:0]
	if a.replies = a.replies[:0]; cap(a.replies) > 2*batchReplies {
		a.replies = nil
	}
}

// send answers one request. c.mu is held.
func (a *inlineAnswers) send(id frame.Slot, body []byte, err error) {
	m := a.c.m
	switch {
	case err != nil:
		_ = m.Fail(id, asError(err))
		return
	case m.Queued()+a.long > int(m.Self.ConnBudget):
		_ = m.Fail(id, &Error{Code: ResourceExhausted, Msg: "too many answers wait to be sent"})
		return
	}
	switch err := m.Respond(id, nil, body, false); {
	case errors.Is(err, ErrTooLarge):
		a.promote(id, body)
	case err != nil:
		m.Done(id)
	}
}

// promote sends an answer that is longer than a frame as a stream. c.mu is held.
func (a *inlineAnswers) promote(id frame.Slot, body []byte) {
	c := a.c
	head := c.m.MaxFrame() / 2
	if err := c.m.Respond(id, nil, body[:head], true); err != nil {
		c.m.Done(id)
		return
	}
	s := c.newStream(id, "", nil)
	c.slots.serve(id).stream = s
	rest := append([]byte(nil), body[head:]...)
	a.long += len(rest)
	c.tasks.Go(func() {
		_, _ = s.Write(rest)
		c.mu.Lock()
		a.long -= len(rest)
		c.mu.Unlock()
		s.finish(nil)
	})
}

// asError returns the error of a handler as the peer gets it.
func asError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e.Code != 0:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled}
	}
	return &Error{Code: Unknown, Msg: err.Error()}
}

// handlers has the running handlers of a connection.
type handlers struct {
	c       *Conn
	running map[string]int // guarded by Conn.mu; handlers of requests and streams by kind
}

// recovered is deferred around a handler. A panic becomes the handler's error.
func (hs *handlers) recovered(h *handler, err *error) {
	if cause := recover(); cause != nil {
		*err = hs.panicked(h, cause)
	}
}

// panicked logs a panic, and returns the error that the peer gets. The stack is for the log of this
// side only.
func (hs *handlers) panicked(h *handler, cause any) error {
	hs.c.config.Logger.Error("wire: handler panicked", "kind", h.kind, "cause", cause, "stack", string(debug.Stack()))
	return &Error{Code: Internal, Msg: "handler panicked"}
}

// allowed returns the error of Config.Authorize.
func (hs *handlers) allowed(h *handler) error {
	if hs.c.config.Authorize == nil {
		return nil
	}
	err := hs.c.config.Authorize(hs.c, h.kind)
	if _, ok := errors.AsType[*Error](err); err != nil && !ok {
		return &Error{Code: PermissionDenied, Msg: err.Error(), NotStarted: true}
	}
	return err
}

// begin counts a handler that is about to run. c.mu is held.
func (hs *handlers) begin(kind string) {
	hs.running[kind]++
	hs.c.tasks.Add(1)
}

// left counts a handler that has returned. c.mu is held.
func (hs *handlers) left(kind string) {
	if hs.running[kind]--; hs.running[kind] <= 0 {
		delete(hs.running, kind)
	}
}

// list returns the kinds whose handlers run, with the number of handlers.
func (hs *handlers) list() string {
	c := hs.c
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds := maps.Clone(hs.running)
	if c.posts.running {
		kinds[c.posts.kind]++
	}
	return fmt.Sprint(kinds)
}

// serve runs the handler of a stream that the peer has opened; it is the goroutine of the stream.
func (s *Stream) serve(h *handler) {
	c := s.c
	defer c.tasks.Done()
	err := s.handle(h)
	c.mu.Lock()
	c.handlers.left(s.kind)
	c.mu.Unlock()
	s.finish(err)
	s.cancel(context.Canceled)
}

// handle calls the handler. A panic becomes an error.
func (s *Stream) handle(h *handler) (err error) {
	defer s.c.handlers.recovered(h, &err)
	if err := s.c.handlers.allowed(h); err != nil {
		return err
	}
	return h.stream(s.ctx, s)
}

// finish ends a stream whose handler has returned err: with END, or the error.
func (s *Stream) finish(err error) {
	c := s.c
	c.mu.Lock()
	if err == nil {
		_ = s.endWriteLocked()
	}
	s.stopLocked(net.ErrClosed)
	c.slots.finish(s.id, remote{stream: s}, err)
	c.out.flushAndUnlock(false)
	s.end(net.ErrClosed)
}
