package wire

import (
	"context"
	"errors"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

const (
	// minRead is the least room for which a read is worth its call.
	minRead = 4 << 10
	// lateMost bounds the bytes of a stream whose reader is woken late.
	lateMost = 128 << 10
)

// reader holds the received bytes that are not consumed: block.buf[from:to]. An idle reader has no
// block. It belongs to the goroutine of the dispatcher.
type reader struct {
	block    *block
	from, to int
	lent     bool // the block before was

	// A stream whose reader is still to be woken. To wake another goroutine costs as much as to
	// decrypt a record: while more bytes are there already, bulk data gathers.
	gathers   bool // the reader calls wakeLate before it waits
	late      *Stream
	lateBytes int
}

// bytes returns the received bytes that are not consumed.
func (r *reader) bytes() []byte {
	if r.block == nil {
		return nil
	}
	return r.block.buf[r.from:r.to:r.to]
}

// room returns the place of the next bytes. Earlier bytes keep their place, as slices of them have
// been lent. The beginning of a frame moves to a new block if the rest would not fit.
func (r *reader) room() []byte {
	if r.block == nil {
		r.block, r.from, r.to = r.fresh(), 0, 0
		return r.block.buf
	}
	size := len(r.block.buf)
	have := r.to - r.from
	need := minRead
	if have >= frame.HeaderSize {
		need = max(need, frame.HeaderSize+frame.ParseHeader(r.block.buf[r.from:]).Len()-have)
	}
	if size-r.to >= need {
		return r.block.buf[r.to:]
	}
	// Memory grows with the received bytes, not with the announced length.
	var next *block
	if want := min(have+need, 2*have); want > blockSize {
		next = newBlock(want)
	} else {
		next = r.fresh()
	}
	copy(next.buf, r.block.buf[r.from:r.to])
	r.drop()
	r.block, r.from, r.to = next, 0, have
	return next.buf[have:]
}

// fresh returns a block to read into.
func (r *reader) fresh() *block {
	if r.lent {
		return warmBlock()
	}
	return newBlock(blockSize)
}

// drop releases the block.
func (r *reader) drop() {
	r.lent = r.block.lent
	r.block.release()
}

// giveBack releases the block if it holds nothing.
func (r *reader) giveBack() {
	if r.block != nil && r.from == r.to {
		r.drop()
		r.block = nil
	}
}

// putOff reports whether the reader of s is woken later for n received bytes.
func (r *reader) putOff(s *Stream, n int) bool {
	if r.late != s {
		r.wakeLate()
	}
	if !r.gathers || r.lateBytes+n > lateMost {
		r.late, r.lateBytes = nil, 0
		return false
	}
	r.late, r.lateBytes = s, r.lateBytes+n
	return true
}

// wakeLate wakes the goroutines whose wake-up was put off. It is called before anything that may
// wait.
func (r *reader) wakeLate() {
	if s := r.late; s != nil {
		r.late, r.lateBytes = nil, 0
		s.wakeReader()
	}
}

// delivery is the work for the application that one frame brings. Its slices are those of the
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

// deliver does the work that a frame brings. The error ends the connection.
func (d *dispatcher) deliver(to *delivery) error {
	if to.op != machine.OpData {
		d.wakeLate()
	}
	switch to.op {
	case machine.OpHello:
		return d.judgeHello()
	case machine.OpPost:
		return d.c.posts.deliver(to)
	case machine.OpRequest:
		d.deliverRequest(to)
	case machine.OpOpen:
		d.deliverStream(to)
	case machine.OpData:
		if !to.stream.push(d, to.body, to.flags) {
			return d.flooded(to.stream)
		}
	case machine.OpReset, machine.OpCancel:
		to.stream.end(to.err)
	case machine.OpResponse:
		to.stream.decide(to.body, to.flags, to.err)
	}
	return nil
}

// flooded ends a connection whose peer sends empty messages that are not read.
func (d *dispatcher) flooded(s *Stream) error {
	c := d.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m.Close(Flood)
	return &Error{Code: Flood, Msg: "messages without bytes wait on " + s.kind}
}

// judgeHello decides whether the peer's HELLO is accepted.
func (d *dispatcher) judgeHello() error {
	c := d.c
	var err error
	if c.config.Verify != nil {
		err = c.config.Verify(c, c.m.Peer())
	}
	if err == nil {
		err = c.joinSession()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		close(c.ready)
		c.m.Ping(c.now()) // windows need the round trip
		return nil
	}
	code := Unauthenticated
	if e, ok := errors.AsType[*Error](err); ok {
		code = e.Code
	}
	c.m.Close(code)
	return err
}

// deliverRequest runs an inline handler, or starts a goroutine for another. There are never more of
// these than slots that the peer may hold.
func (d *dispatcher) deliverRequest(to *delivery) {
	h, r := to.handler, to.request
	if r == nil {
		d.answers.add(h, to)
		return
	}
	d.c.mu.Lock()
	d.c.handlers.begin(h.kind)
	d.c.mu.Unlock()
	switch {
	case !h.servesRequests():
		r.finish(&Error{Code: Unimplemented, Msg: "no handler for requests of " + h.kind, NotStarted: true})
	case h.begins:
		r.take(to.body)
		r.begin()
	default:
		r.take(to.body)
		go r.run()
	}
}

// deliverStream starts the handler of a stream that the peer has opened. There are never more of
// these than slots that the peer may hold.
func (d *dispatcher) deliverStream(to *delivery) {
	s, end := to.stream, to.flags&frame.FlagEnd
	if len(to.body) > 0 || end != 0 {
		s.push(d, to.body, end)
	}
	if !to.handler.servesStreams() {
		s.finish(&Error{Code: Unimplemented, Msg: "no handler for streams of " + s.kind, NotStarted: true})
		return
	}
	d.c.mu.Lock()
	s.ctx, s.cancel = context.WithCancelCause(d.c.ctx)
	d.c.handlers.begin(s.kind)
	d.c.mu.Unlock()
	go s.serve(to.handler)
}
