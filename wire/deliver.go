package wire

import (
	"context"
	"errors"
	"runtime/debug"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// delivery is what one frame asks of the application. Its slices are those of the
// reader's block.
type delivery struct {
	op      machine.Op
	flags   frame.Flags
	batch   bool // POSTS
	slot    frame.Slot
	skip    int
	bodies  int
	last    uint64 // number of the last post, 0: without ACK
	handler *handler
	request *Request
	stream  *Stream
	body    []byte
	err     error // of a refusal
}

// answer is that of an inline handler: bytes of reader.replies, or an error.
type answer struct {
	slot     frame.Slot
	from, to int
	err      error
}

// note takes what an event means into the tables, and a delivery for what must be
// done without the lock. c.mu is held.
func (c *Conn) note(ev *machine.Event) {
	f := ev.Frame
	d := delivery{op: ev.Op, slot: ev.Slot, flags: f.Flags, body: f.Body}
	switch ev.Op {
	case machine.OpHello:
		c.tickAt(c.m.HeardAt+c.m.Idle/3, c.m.HeardAt) // T is known now
		c.refill()
	case machine.OpPost:
		d.batch, d.skip, d.bodies, d.last = f.Type == frame.POSTS, ev.Skip, 1, ev.Last
		if d.batch {
			d.bodies = int(f.Count)
		}
		d.handler = c.handler(f.ID)
	case machine.OpRequest:
		c.noteRequest(f, &d)
	case machine.OpOpen:
		d.handler = c.handler(f.Kind)
		d.stream = c.newStream(ev.Slot, d.handler.kind, &f.Meta)
		d.stream.confirm = f.Has(frame.FlagConfirm)
		*c.remote(ev.Slot) = remote{stream: d.stream}
	case machine.OpResponse:
		if c.noteResponse(f, &d); d.stream == nil {
			return
		}
	case machine.OpData, machine.OpReset:
		if d.stream = c.streamOf(ev.Slot); d.stream == nil {
			c.m.Discard(len(f.Body))
			return
		}
		if ev.Op == machine.OpReset {
			d.err = &Error{Code: ev.Code, Msg: string(f.Text)}
			d.stream.stopLocked(d.err)
			if r := c.requestOf(ev.Slot); r != nil { // it was promoted, or its body goes on
				r.cancel(context.Canceled)
			}
		}
	case machine.OpStop:
		if s := c.streamOf(ev.Slot); s != nil {
			s.stopLocked(&Error{Code: ev.Code, Msg: string(f.Text)})
		}
		return
	case machine.OpCancel:
		if r := c.requestOf(ev.Slot); r != nil {
			r.cancel(context.Canceled)
		}
		return
	default:
		c.noteControl(ev)
		return
	}
	c.in.deliveries = append(c.in.deliveries, d)
}

// noteControl deals with what concerns no slot but for its credit. c.mu is held.
func (c *Conn) noteControl(ev *machine.Event) {
	switch ev.Op {
	case machine.OpCredit:
		c.noteCredit(ev.Frame.ID)
	case machine.OpGoaway:
		c.drained.open()
		c.slotGate.open()
	case machine.OpPong:
		c.ponged.open()
		c.rtt.Add(ev.RTT, c.m.HeardAt)
		c.sock.fit(c.rtt.Min())
	case machine.OpAck:
		c.ackGate.open()
	}
}

// noteCredit wakes what has waited for it. c.mu is held.
func (c *Conn) noteCredit(id uint32) {
	switch id {
	case frame.ConnectionID:
		c.unstarve()
	case frame.PostLaneID:
		c.postGate.open()
		c.sendKeyed()
	default:
		if s := c.streamOf(frame.Slot(id)); s != nil {
			s.enterRing()
		}
	}
}

// refill wakes everything that the peer's HELLO may have given credit. c.mu is
// held.
func (c *Conn) refill() {
	c.slotGate.open()
	c.postGate.open()
	c.sendKeyed()
	c.unstarve()
	for _, l := range c.ours {
		if l.stream != nil {
			l.stream.enterRing()
		}
	}
}

// remote is the entry of a slot of the peer's. c.mu is held.
func (c *Conn) remote(id frame.Slot) *remote {
	i := int(id.Index())
	for len(c.theirs) < i {
		c.theirs = append(c.theirs, remote{})
	}
	return &c.theirs[i-1]
}

// is says whether the entry is that of id, and not of an earlier use of the slot.
func (r *remote) is(id frame.Slot) bool {
	return r.stream != nil && r.stream.id == id || r.request != nil && r.request.slot == id
}

// streamOf is the stream in a live slot, nil if it is none. c.mu is held.
func (c *Conn) streamOf(id frame.Slot) *Stream {
	i := int(id.Index())
	if id.Side() == c.role {
		if i > len(c.ours) {
			return nil
		}
		return c.ours[i-1].stream
	}
	if i > len(c.theirs) {
		return nil
	}
	return c.theirs[i-1].stream
}

// requestOf is the request in a slot of the peer's whose handler runs, nil if there
// is none. c.mu is held.
func (c *Conn) requestOf(id frame.Slot) *Request {
	if i := int(id.Index()); id.Side() != c.role && i <= len(c.theirs) {
		return c.theirs[i-1].request
	}
	return nil
}

// noteRequest prepares a request whose handler does not run on the reader, so that
// a CANCEL right behind it finds it. c.mu is held.
func (c *Conn) noteRequest(f *frame.Frame, d *delivery) {
	h := c.handler(f.Kind)
	d.handler = h
	if h.answer != nil && h.inline && !f.Has(frame.FlagMore) {
		return
	}
	r := newRequest(c, d.slot, h, &f.Meta)
	entry := c.remote(d.slot)
	*entry = remote{request: r}
	if f.Has(frame.FlagMore) {
		r.body = c.newStream(d.slot, h.kind, &f.Meta)
		entry.stream = r.body
	}
	d.request = r
}

// noteResponse completes a call, or decides about a stream that we have opened.
// c.mu is held.
func (c *Conn) noteResponse(f *frame.Frame, d *delivery) {
	i := int(d.slot.Index())
	if i > len(c.ours) {
		return
	}
	l := &c.ours[i-1]
	switch call := l.call; {
	case call != nil:
		l.call = nil
		switch {
		case f.Has(frame.FlagErr):
			call.err = remoteError(f)
		case f.Has(frame.FlagMore):
			l.stream = c.newStream(d.slot, call.kind, &f.Meta)
			call.stream = l.stream
			call.dst = append(call.dst, f.Body...)
		default:
			call.dst = append(call.dst, f.Body...)
		}
		call.done = true
		c.in.woken = append(c.in.woken, call)
	case l.stream != nil:
		d.stream = l.stream
		if f.Has(frame.FlagErr) {
			d.err = remoteError(f)
			d.stream.stopLocked(d.err)
			return
		}
		if !f.Has(frame.FlagMore) { // the answer to a request whose body went on
			d.stream.stopLocked(ErrStopped)
		}
		d.stream.enterRing()
	}
}

// remoteError is RES ERR as a Go value.
func remoteError(f *frame.Frame) *Error {
	e := &Error{
		Code: f.Code, Msg: string(f.Text), NotStarted: f.NotStarted,
		RetryAfter: machine.Milliseconds(f.RetryAfter),
	}
	if len(f.Body) > 0 {
		e.Details = append([]byte(nil), f.Body...)
	}
	return e
}

// deliver does what a frame asks for. The error ends the connection.
func (c *Conn) deliver(d *delivery) error {
	if d.op != machine.OpData {
		c.in.wakeLate()
	}
	switch d.op {
	case machine.OpHello:
		return c.opened()
	case machine.OpPost:
		return c.deliverPosts(d)
	case machine.OpRequest:
		c.deliverRequest(d)
	case machine.OpOpen:
		c.deliverStream(d)
	case machine.OpData:
		if !d.stream.push(&c.in, d.body, d.flags) {
			return c.flooded(d.stream)
		}
	case machine.OpReset:
		d.stream.end(d.err)
	case machine.OpResponse:
		d.stream.decide(d.body, d.flags, d.err)
	}
	return nil
}

// flooded ends a connection whose peer sends empty messages that are not read.
func (c *Conn) flooded(s *Stream) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m.Close(Flood)
	return &Error{Code: Flood, Msg: "messages without bytes wait on " + s.kind}
}

// opened judges the peer's HELLO.
func (c *Conn) opened() error {
	var err error
	if c.config.Verify != nil {
		err = c.config.Verify(c, c.m.Peer())
	}
	if err == nil {
		err = c.joinSession()
	}
	if err == nil {
		close(c.ready)
		c.mu.Lock()
		c.m.Ping(c.now()) // windows need the round trip
		c.mu.Unlock()
		return nil
	}
	code := Unauthenticated
	var e *Error
	if errors.As(err, &e) {
		code = e.Code
	}
	c.mu.Lock()
	c.m.Close(code)
	c.mu.Unlock()
	return err
}

// handler finds the one for a kind of the peer's; it always finds one, which may
// serve nothing. c.mu is held; the list is the reader's.
func (c *Conn) handler(number uint32) *handler {
	in := &c.in
	for len(in.handlers) <= int(number) {
		in.handlers = append(in.handlers, nil)
	}
	h := in.handlers[number]
	if h == nil {
		h = c.config.Mux.lookup(c.m.PeerKind(number))
		in.handlers[number] = h
	}
	return h
}

// deliverRequest runs an inline handler, or starts a goroutine for another. There
// are never more of these than slots that the peer may hold.
func (c *Conn) deliverRequest(d *delivery) {
	h, in := d.handler, &c.in
	if d.request == nil {
		at := len(in.replies)
		replies, err := c.runInline(h, d.body)
		if err == nil {
			in.replies = replies
		}
		in.answers = append(in.answers, answer{slot: d.slot, from: at, to: len(in.replies), err: err})
		if len(in.replies) > batchReplies || len(in.answers) >= batchFrames {
			c.answerAll()
		}
		return
	}
	r := d.request
	c.mu.Lock()
	c.running[h.kind]++
	c.mu.Unlock()
	c.tasks.Add(1)
	switch {
	case h.answer == nil && h.request == nil:
		r.finish(&Error{Code: Unimplemented, Msg: "no handler for requests of " + h.kind, NotStarted: true})
	case h.begins:
		r.take(d.body)
		r.begin()
	default:
		r.take(d.body)
		go r.run()
	}
}

// runInline calls an inline handler, which appends its answer to the replies. A
// panic becomes an error.
func (c *Conn) runInline(h *handler, body []byte) (replies []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = c.panicked(h, cause)
		}
	}()
	if err := c.allowed(h); err != nil {
		return nil, err
	}
	return h.answer(c.ctx, body, c.in.replies)
}

// panicked turns a handler's panic into the answer that the peer gets; the stack
// is for our own log only.
func (c *Conn) panicked(h *handler, cause any) error {
	c.config.Logger.Error("wire: handler panicked", "kind", h.kind, "cause", cause, "stack", string(debug.Stack()))
	return &Error{Code: Internal, Msg: "handler panicked"}
}

// answerAll puts the answers of inline handlers into the output. They leave when
// the reader has dealt with all that has come.
func (c *Conn) answerAll() {
	in := &c.in
	if len(in.answers) == 0 && in.postsDone == 0 {
		return
	}
	c.mu.Lock()
	for i := range in.answers {
		a := &in.answers[i]
		c.answerInline(a.slot, in.replies[a.from:a.to], a.err)
		a.err = nil
	}
	if in.postsDone > 0 {
		c.m.PostsDone(in.postsDone)
		in.postsDone = 0
	}
	c.mu.Unlock()
	in.answers = in.answers[:0]
	if in.replies = in.replies[:0]; cap(in.replies) > 2*batchReplies {
		in.replies = nil
	}
}

// answerInline answers one request. c.mu is held.
func (c *Conn) answerInline(id frame.Slot, body []byte, err error) {
	switch {
	case err != nil:
		_ = c.m.Fail(id, asError(err))
		return
	case c.m.Queued()+c.long > int(c.m.Self.ConnBudget):
		_ = c.m.Fail(id, &Error{Code: ResourceExhausted, Msg: "too many answers wait to be sent"})
		return
	}
	switch err := c.m.Respond(id, nil, body, false); {
	case errors.Is(err, ErrTooLarge):
		c.answerLong(id, body)
	case err != nil:
		c.m.Done(id)
	}
}

// answerLong promotes: the answer is longer than a frame. c.mu is held.
func (c *Conn) answerLong(id frame.Slot, body []byte) {
	head := c.m.MaxFrame() / 2
	if err := c.m.Respond(id, nil, body[:head], true); err != nil {
		c.m.Done(id)
		return
	}
	s := c.newStream(id, "", nil)
	c.remote(id).stream = s
	rest := append([]byte(nil), body[head:]...)
	c.long += len(rest)
	c.tasks.Add(1)
	go func() {
		defer c.tasks.Done()
		_, _ = s.Write(rest)
		c.mu.Lock()
		c.long -= len(rest)
		c.mu.Unlock()
		c.finishStream(s, nil)
	}()
}

// asError is what the peer is told of a handler's error.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code != 0:
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled}
	}
	return &Error{Code: Unknown, Msg: err.Error()}
}
