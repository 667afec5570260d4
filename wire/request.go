package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

// Request is the argument of a handler of HandleRequest. It is valid until the handler returns, or
// until End, and used by one goroutine at a time.
type Request struct {
	// Body is borrowed: it is valid as long as the Request.
	Body []byte
	// Meta is the metadata of the request.
	Meta Meta

	c       *Conn
	slot    frame.Slot
	handler *handler
	ctx     *requestContext
	block   *block  // Body's
	body    *Stream // where the body goes on, nil if it does not
	replied bool
	reply   []byte
	rest    func(context.Context, *Request) error // of Go
	run     func()
}

var requests sync.Pool

// newRequest prepares the request of a slot. Conn.mu is held.
func newRequest(c *Conn, id frame.Slot, h *handler, meta *Meta) *Request {
	r, _ := requests.Get().(*Request)
	if r == nil {
		r = new(Request)
		r.run = r.serve
	}
	r.c, r.slot, r.handler = c, id, h
	if meta.Raw != nil {
		r.Meta = frame.CloneMeta(meta)
	}
	r.ctx = newRequestContext(c.ctx, meta)
	return r
}

func (r *Request) recycle() {
	*r = Request{run: r.run, reply: r.reply[:0]}
	if cap(r.reply) > keptOutput {
		r.reply = nil
	}
	requests.Put(r)
}

// take copies the body to where it stays until the handler returns.
func (r *Request) take(body []byte) {
	if len(body) > 0 {
		r.block = newBlock(len(body))
		r.Body = r.block.buf[:copy(r.block.buf, body)]
	}
}

// Kind returns the kind of the request.
func (r *Request) Kind() string { return r.handler.kind }

// Conn returns the connection of the request.
func (r *Request) Conn() *Conn { return r.c }

// Stream returns the stream on which the body goes on, nil if Body is all of it.
func (r *Request) Stream() *Stream { return r.body }

// Respond answers. It is called once; body is copied before it returns. An answer
// longer than a frame goes on as a stream, without the caller noticing. If the body goes on, the
// rest of it is dropped: reads of Stream fail with net.ErrClosed behind what has arrived.
func (r *Request) Respond(body []byte) error {
	if r.replied {
		return ErrSlot
	}
	r.replied = true
	c := r.c
	c.mu.Lock()
	for c.out.full() {
		c.out.mustWake()
		if err := c.sends.room.wait(r.ctx, &c.mu); err != nil {
			c.mu.Unlock()
			return err
		}
	}
	err := c.m.Respond(r.slot, nil, body, false)
	if errors.Is(err, ErrTooLarge) {
		c.mu.Unlock()
		return r.respondLong(body)
	}
	c.out.flushAndUnlock(true)
	if err == nil && r.body != nil {
		r.body.noMore(net.ErrClosed)
	}
	return err
}

func (r *Request) respondLong(body []byte) error {
	r.replied = false
	head := int(frame.LimitFrame.Before) / 2
	s, err := r.Promote(body[:head])
	if err == nil {
		_, err = s.Write(body[head:])
	}
	if err == nil {
		err = s.CloseWrite()
	}
	return err
}

// Promote answers with a head and lets the answer go on as a stream, which is ours
// to write until the handler returns. If the body goes on, it is the same stream.
func (r *Request) Promote(head []byte) (*Stream, error) {
	if r.replied {
		return nil, ErrSlot
	}
	r.replied = true
	c := r.c
	c.mu.Lock()
	if err := c.m.Respond(r.slot, nil, head, true); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	s := r.body
	if s == nil {
		s = c.newStream(r.slot, r.handler.kind, nil)
		s.queue.ended = true
		c.slots.serve(r.slot).stream = s
		r.body = s
	}
	c.out.flushAndUnlock(false)
	return s, nil
}

// Go lets fn do the rest on a goroutine of its own, once the handler has returned nil,
// as if fn were the handler. It is for handlers that begin on the reader.
func (r *Request) Go(fn func(context.Context, *Request) error) { r.rest = fn }

// Later lets another goroutine answer after the handler has returned nil: by Respond or Promote,
// and always by End, which may be called before that return. It is for handlers that begin on the
// reader, and is their last use of the Request. When the context ends, left is called once on a
// goroutine of its own, perhaps still after End has returned.
func (r *Request) Later(left func()) {
	r.c.in.later = true
	r.ctx.whenLeft(left)
}

// End ends a request whose handler has called Later, as the handler would by returning
// err. The Request is not valid any more.
func (r *Request) End(err error) {
	r.ctx.whenLeft(nil)
	r.finish(err)
}

// begin runs a handler on the reader, as far as that goes.
func (r *Request) begin() {
	in := &r.c.in
	in.later = false
	err := r.call()
	switch {
	case in.later: // r may belong to another goroutine already, or be recycled
	case err == nil && r.rest != nil:
		go r.run()
	default:
		r.finish(err)
	}
}

// serve runs the handler, or the function of Go; it is the goroutine of the request.
func (r *Request) serve() { r.finish(r.call()) }

// finish ends a request whose handler has returned err.
func (r *Request) finish(err error) {
	c := r.c
	defer c.tasks.Done()
	if err == nil && r.replied && r.body != nil {
		if e := r.body.CloseWrite(); r.ctx.Err() == nil {
			err = e
		}
	}
	c.mu.Lock()
	c.handlers.left(r.handler.kind)
	c.slots.finish(r.slot, remote{r, r.body}, err)
	c.out.flushAndUnlock(true)
	if r.body != nil {
		r.body.end(net.ErrClosed)
	}
	r.ctx.end(context.Canceled)
	if r.block != nil {
		r.block.release()
	}
	r.recycle()
}

// call calls the handler. A panic becomes an error.
func (r *Request) call() (err error) {
	defer r.c.handlers.recovered(r.handler, &err)
	if r.rest != nil {
		return r.rest(r.ctx, r)
	}
	if err := r.c.handlers.allowed(r.handler); err != nil {
		return err
	}
	if r.handler.answer == nil {
		return r.handler.request(r.ctx, r)
	}
	reply, err := r.handler.answer(r.ctx, r.Body, r.reply[:0])
	if err == nil {
		err = r.Respond(reply)
		r.reply = reply
	}
	return err
}

// requestContext is the context of one request: it ends when the caller cancels,
// at the deadline, with the connection, or when the handler has returned. One
// allocation, where context.WithDeadline makes several.
type requestContext struct {
	parent   context.Context
	deadline time.Time

	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{}
	err   error
	after map[*func()]struct{}
	left  func() // of Later, nil: none
}

func newRequestContext(parent context.Context, meta *Meta) *requestContext {
	c := &requestContext{parent: parent}
	if meta.HasDeadline {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deadline = time.Now().Add(meta.Deadline)
		c.timer = time.AfterFunc(meta.Deadline, func() { c.end(context.DeadlineExceeded) })
	}
	return c
}

// end ends it with err, unless it has ended.
func (c *requestContext) end(err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		err = context.Canceled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.done != nil {
		close(c.done)
	}
	for f := range c.after {
		go (*f)()
	}
	if c.left != nil {
		go c.left()
	}
	c.after, c.left = nil, nil
}

// whenLeft sets the function that is called when the context ends, in place of an earlier one; nil
// sets none.
func (c *requestContext) whenLeft(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil && f != nil {
		go f()
		return
	}
	c.left = f
}

func (c *requestContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *requestContext) Value(key any) any { return c.parent.Value(key) }

func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// AfterFunc lets package context watch the context without a goroutine for each child.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[&f]
		delete(c.after, &f)
		return waiting
	}
}
