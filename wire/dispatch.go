package wire

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// batchFrames bounds the frames that are fed to the machine under one lock.
const batchFrames = 64

// dispatcher is the reading side of a connection. It feeds received frames to the machine, and does
// the work for the application that they bring. It belongs to its goroutine, which is run.
type dispatcher struct {
	c *Conn
	reader

	opened     bool // the preface has been received
	deliveries []delivery
	handed     []handedOver
	woken      []*call
	handlers   []*handler // by the peer's kinds
	answers    inlineAnswers
	later      bool  // the handler that runs has called Request.Later
	inline     Posts // of the inline handler that runs
}

// run reads until the connection ends; its end is the end of the connection.
func (d *dispatcher) run() {
	c := d.c
	defer c.tasks.Done()
	err := c.sock.readAll(&d.reader, d.arrived)
	d.answers.flush()
	c.mu.Lock()
	c.failLocked(d.readError(err))
	c.mu.Unlock()
	c.leaveSession()
	d.from = d.to
	d.giveBack()
}

// readError returns the meaning of a failed read. c.mu is held.
func (d *dispatcher) readError(err error) error {
	c := d.c
	switch {
	case err != io.EOF:
		return c.socketError(err)
	case c.drainedOut():
		return errDrained
	case c.m.PeerHello == nil:
		return fmt.Errorf("%w: by the peer, before its HELLO", ErrClosed)
	}
	return fmt.Errorf("%w: by the peer", ErrClosed)
}

// arrived handles all complete frames that have been received. Answers of inline handlers leave
// together at its end.
func (d *dispatcher) arrived() error {
	if !d.opened {
		n, err := frame.CheckPreface(d.bytes())
		if n == 0 || err != nil {
			return err
		}
		d.from += n
		d.opened = true
	}
	for more := true; more; {
		var err error
		if more, err = d.batch(); err != nil {
			return err
		}
	}
	d.answers.flush()
	c := d.c
	c.mu.Lock()
	d.reportHanded()
	c.delivering = false
	c.settled()
	c.out.flushAndUnlock(false)
	d.giveBack()
	return nil
}

// batch feeds up to batchFrames complete frames to the machine, and then does the work that they
// bring. It reports whether there may be more.
func (d *dispatcher) batch() (more bool, err error) {
	c := d.c
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false, ErrClosed
	}
	c.m.Heard(c.now())
	d.reportHanded()
	d.deliveries = d.deliveries[:0]
	var ev machine.Event
	hello := false
	for len(d.deliveries) < batchFrames && !hello {
		n, e := c.m.Feed(d.bytes(), &ev)
		if err = e; n == 0 {
			break
		}
		d.from += n
		more = true
		if ev.Op != machine.OpNone {
			d.note(&ev)
			hello = ev.Op == machine.OpHello
		}
		if err != nil {
			break
		}
	}
	c.delivering = err == nil || len(d.deliveries) > 0
	more = more && (hello || len(d.deliveries) == batchFrames)
	c.mu.Unlock()
	for i, call := range d.woken {
		call.answered <- struct{}{}
		d.woken[i] = nil
	}
	d.woken = d.woken[:0]
	for i := range d.deliveries {
		if e := d.deliver(&d.deliveries[i]); e != nil {
			return false, e
		}
	}
	clear(d.deliveries)
	if err != nil { // frames before the faulty one have been dealt with
		c.mu.Lock()
		c.delivering = false
		c.mu.Unlock()
	}
	return more, err
}

// note enters an event into the tables, and adds a delivery for the work that is to be done without
// the lock. c.mu is held.
func (d *dispatcher) note(ev *machine.Event) {
	c, f := d.c, ev.Frame
	to := delivery{op: ev.Op, slot: ev.Slot, flags: f.Flags, body: f.Body}
	switch ev.Op {
	case machine.OpHello:
		c.beat.set(c.m.HeardAt+c.m.Idle/3, c.m.HeardAt) // T is known now
		c.slots.free.broadcast()
		c.sends.refill()
		c.windows.unstarve()
		c.slots.streams((*Stream).enterRing)
	case machine.OpPost:
		to.batch, to.skip, to.bodies, to.last = f.Type == frame.POSTS, ev.Skip, 1, ev.Last
		if to.batch {
			to.bodies = int(f.Count)
		}
		to.handler = d.handler(f.ID)
	case machine.OpRequest:
		d.noteRequest(f, &to)
	case machine.OpOpen:
		to.handler = d.handler(f.Kind)
		to.stream = c.newStream(ev.Slot, to.handler.kind, &f.Meta)
		to.stream.confirm = f.Has(frame.FlagConfirm)
		to.stream.tuning.got = uint64(len(f.Body))
		*c.slots.serve(ev.Slot) = remote{stream: to.stream}
	case machine.OpResponse:
		if d.noteResponse(f, &to); to.stream == nil {
			return
		}
	case machine.OpData:
		if to.stream = c.slots.stream(ev.Slot); to.stream == nil {
			c.m.Discard(len(f.Body))
			return
		}
		to.stream.tuning.got += uint64(len(f.Body))
	case machine.OpReset, machine.OpCancel:
		c.slots.cancel(ev.Slot, context.Canceled)
		if to.stream = c.slots.stream(ev.Slot); to.stream == nil {
			return
		}
		to.err = &Error{Code: cmp.Or(ev.Code, Cancelled), Msg: string(f.Text)}
		to.stream.stopLocked(to.err)
	default:
		d.noteControl(ev)
		return
	}
	d.deliveries = append(d.deliveries, to)
}

// noteControl handles an event that asks nothing of the application. c.mu is held.
func (d *dispatcher) noteControl(ev *machine.Event) {
	c := d.c
	switch ev.Op {
	case machine.OpStop:
		if s := c.slots.stream(ev.Slot); s != nil {
			s.stopLocked(&Error{Code: ev.Code, Msg: string(ev.Frame.Text)})
		}
	case machine.OpCredit:
		switch id := ev.Frame.ID; id {
		case frame.ConnectionID:
			c.windows.unstarve()
		case frame.PostLaneID:
			c.sends.refill()
		default:
			if s := c.slots.stream(frame.Slot(id)); s != nil {
				s.enterRing()
			}
		}
	case machine.OpGoaway:
		c.drained.broadcast()
		c.slots.free.broadcast()
	case machine.OpPong:
		c.ponged.broadcast()
		c.windows.rtt.Add(ev.RTT, c.m.HeardAt)
		c.sock.fit(c.windows.rtt.Min())
	case machine.OpAck:
		c.sends.acked.broadcast()
	}
}

// noteRequest prepares a request whose handler does not run on the reader, so that a CANCEL right
// behind it finds it. c.mu is held.
func (d *dispatcher) noteRequest(f *frame.Frame, to *delivery) {
	c, h := d.c, d.handler(f.Kind)
	to.handler = h
	if h.answer != nil && h.inline && !f.Has(frame.FlagMore) {
		c.slots.vacate(to.slot)
		return
	}
	r := newRequest(c, to.slot, h, &f.Meta)
	entry := c.slots.serve(to.slot)
	*entry = remote{request: r}
	if f.Has(frame.FlagMore) {
		r.body = c.newStream(to.slot, h.kind, &f.Meta)
		entry.stream = r.body
	}
	to.request = r
}

// noteResponse completes a call, or decides about a stream that this side has opened. c.mu is held.
func (d *dispatcher) noteResponse(f *frame.Frame, to *delivery) {
	l := d.c.slots.own(to.slot)
	if l == nil {
		return
	}
	var failed error
	if f.Has(frame.FlagErr) {
		failed = remoteError(f)
	}
	switch call := l.call; {
	case call != nil:
		l.call = nil
		if call.err = failed; failed == nil {
			call.dst = append(call.dst, f.Body...)
			if f.Has(frame.FlagMore) {
				l.stream = d.c.newStream(to.slot, call.kind, &f.Meta)
				call.stream = l.stream
			}
		}
		call.done = true
		d.woken = append(d.woken, call)
	case l.stream != nil:
		to.stream, to.err = l.stream, failed
		switch {
		case failed != nil:
			to.stream.stopLocked(failed)
			return
		case !f.Has(frame.FlagMore): // the answer to a request whose body went on
			to.stream.stopLocked(ErrStopped)
		case to.stream.over: // closed here before its answer went on
			_ = d.c.m.Stop(to.slot, Cancelled)
		}
		to.stream.enterRing()
	}
}

// remoteError returns RES ERR as an error.
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

// handler returns the handler for a kind of the peer's, which may serve nothing. c.mu is held; the
// list is the dispatcher's.
func (d *dispatcher) handler(number uint32) *handler {
	for len(d.handlers) <= int(number) {
		d.handlers = append(d.handlers, nil)
	}
	h := d.handlers[number]
	if h == nil {
		h = d.c.config.Mux.lookup(d.c.m.PeerKind(number))
		d.handlers[number] = h
	}
	return h
}
