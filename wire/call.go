package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

// call is a request that waits for its answer. It is in slotTable.ours from when it is
// sent until it is answered or given up, and touched by others only while it is
// there, under Conn.mu.
type call struct {
	answered chan struct{} // gets one value
	kind     string
	slot     frame.Slot
	takes    uint32 // Machine.takes when it was sent
	done     bool
	dst      []byte
	stream   *Stream // the answer goes on
	err      error
	room     [16]byte // for a deadline, which is sent along
}

var calls = sync.Pool{New: func() any { return &call{answered: make(chan struct{}, 1)} }}

// finish ends the call from elsewhere than the reader. Conn.mu is held.
func (c *call) finish(err error) {
	c.err, c.done = err, true
	c.answered <- struct{}{}
}

// recycle gives the call back to the pool. There must be no other reference to it.
func (c *call) recycle() {
	*c = call{answered: c.answered}
	calls.Put(c)
}

// CallOptions are the options of CallStream.
type CallOptions struct {
	// More: the body goes on in the Stream of the Answer, until its CloseWrite. Stream.Accepted
	// returns the answer's head then.
	More bool
	// Meta is sent along; its deadline is that of the context if it has none.
	Meta Meta
	// SlotFree is called once, when the peer no longer works on the request: its last frame has
	// arrived, also after ctx has ended; the connection has ended; or nothing was sent. It may
	// be called under the connection's lock, so it must neither wait nor use the connection. A
	// Client calls it once for each connection that it tries. nil = no call.
	SlotFree func()
	// Into gets the answer's head appended, which allocates nothing if there is room; it is the
	// caller's again when CallStream has returned, with or without an error.
	Into []byte
}

// Answer is the answer to a request. Head belongs to the caller, see CallOptions.Into. Stream
// carries the rest of the answer, or is nil; the caller must close it.
type Answer struct {
	Head   []byte
	Stream *Stream
}

// Call sends a request and waits for its answer, which is the caller's own. body is
// copied, and at most a frame of the peer, 64 KiB unless its HELLO says otherwise; an
// answer that was promoted to a stream is gathered. Errors: *Error from the peer,
// or for a deadline; ErrTooLarge for body or answer; ErrDraining; ErrNotSent and
// ErrMaybeSent when the connection ends. When ctx ends, Call returns at once and
// the peer is told; the slot stays taken until the handler has returned.
func (c *Conn) Call(ctx context.Context, kind string, body []byte) ([]byte, error) {
	return c.CallAppend(ctx, nil, kind, body)
}

// CallAppend is Call that appends the answer to dst. It allocates nothing if dst
// has room.
//
// hot: TestCallDoesNotAllocate.
func (c *Conn) CallAppend(ctx context.Context, dst []byte, kind string, body []byte) ([]byte, error) {
	call := calls.Get().(*call)
	call.dst = dst
	if err := c.slots.send(ctx, call, kind, nil, body, CallOptions{}); err != nil {
		call.recycle()
		return dst, err
	}
	if err := c.slots.await(ctx, call); err != nil {
		return dst, err
	}
	at := len(dst)
	dst, stream, err := call.dst, call.stream, call.err
	call.recycle()
	if err != nil {
		return dst[:at], err
	}
	if stream != nil {
		return stream.gather(ctx, dst, at)
	}
	return dst, nil
}

// CallStream is Call for an answer, or with More a body, that is a stream. With More
// it returns as soon as the request is sent; else with the head of the answer. ctx
// bounds the wait until then, not the stream. The errors are those of Call.
func (c *Conn) CallStream(ctx context.Context, kind string, body []byte, o CallOptions) (*Answer, error) {
	meta := o.Meta
	setDeadline(ctx, &meta)
	call := calls.Get().(*call)
	call.dst = o.Into
	encoded, err := frame.EncodeMeta(&meta)
	if err == nil {
		err = c.slots.send(ctx, call, kind, encoded, body, o)
	}
	if err != nil {
		call.recycle()
		if o.SlotFree != nil {
			o.SlotFree()
		}
		return nil, err
	}
	if o.More {
		answer := &Answer{Stream: call.stream}
		call.recycle()
		return answer, nil
	}
	if err := c.slots.await(ctx, call); err != nil {
		return nil, err
	}
	head, stream, err := call.dst, call.stream, call.err
	call.recycle()
	if err != nil {
		return nil, err
	}
	return &Answer{Head: head, Stream: stream}, nil
}

// setDeadline puts the context's deadline into meta, rounded up to a millisecond.
func setDeadline(ctx context.Context, meta *Meta) {
	if deadline, ok := ctx.Deadline(); ok && !meta.HasDeadline {
		meta.HasDeadline, meta.Deadline = true, max(time.Until(deadline), 0)+time.Millisecond-1
	}
}

// send puts the request into the output, once there is room and a slot for it. Conn.mu is not held.
func (t *slotTable) send(ctx context.Context, call *call, kind string, meta, body []byte, o CallOptions) error {
	c := t.c
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := ctx.Deadline(); ok && meta == nil {
		m := Meta{}
		setDeadline(ctx, &m)
		meta = frame.AppendMeta(call.room[:0], &m)
	}
	c.mu.Lock()
	for {
		number, err := c.kindNumber(kind)
		until := &t.free
		switch {
		case err != nil:
		case c.out.full():
			until, err = &c.sends.room, ErrNoCredit
		default:
			call.slot, err = c.m.Request(number, meta, body, o.More)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, ErrNoSlot) && !errors.Is(err, ErrNoCredit) {
			err = c.notSent(err)
			c.out.wake() // a new kind may have been told
			c.mu.Unlock()
			return err
		}
		c.out.mustWake()
		if err := until.wait(ctx, &c.mu); err != nil {
			c.mu.Unlock()
			return err
		}
	}
	call.kind, call.takes = kind, c.m.Takes
	t.whenFree(call.slot, o.SlotFree)
	if entry := t.begin(call.slot); o.More {
		call.stream = c.newStream(call.slot, kind, nil)
		call.stream.decision = make(chan struct{})
		entry.stream = call.stream
	} else {
		entry.call = call
	}
	if c.out.corked > 0 {
		c.out.mustWake()
	}
	c.out.flushAndUnlock(c.m.Ours.Live > 1)
	return nil
}

// notSent returns the error of work that was not sent. c.mu is held.
func (c *Conn) notSent(err error) error {
	if errors.Is(err, ErrClosed) {
		return &lostError{cause: cmp.Or(c.err, c.m.Failure, err)}
	}
	return err
}

// kindNumber returns the number of a kind at the peer. c.mu is held.
func (c *Conn) kindNumber(kind string) (uint32, error) {
	if c.m.Failure != nil {
		return 0, ErrClosed // also while the output is full: no wake-up would come
	}
	if c.lastKind.name == kind {
		return c.lastKind.number, nil
	}
	number, err := c.m.Bind(kind)
	if err != nil {
		if errors.Is(err, ErrKind) {
			err = fmt.Errorf("%w: %q", ErrKind, kind)
		}
		return 0, err
	}
	c.lastKind = binding{kind, number}
	return number, nil
}

// await waits for the answer. If ctx ends before, the call is given up and gone. Conn.mu is not
// held.
func (t *slotTable) await(ctx context.Context, call *call) error {
	if ctx.Done() == nil {
		<-call.answered
		return nil
	}
	select {
	case <-call.answered:
		return nil
	case <-ctx.Done():
	}
	c := t.c
	c.mu.Lock()
	if call.done { // answered at the same time
		c.mu.Unlock()
		<-call.answered
		return nil
	}
	t.begin(call.slot)
	_ = c.m.Cancel(call.slot)
	c.out.flushAndUnlock(false)
	call.recycle()
	return ctx.Err()
}

// gather appends the rest of an answer to dst, where the answer begins at at.
func (s *Stream) gather(ctx context.Context, dst []byte, at int) ([]byte, error) {
	stop := context.AfterFunc(ctx, func() { _ = s.Reset(Cancelled) })
	defer stop()
	defer s.Close()
	most := s.c.config.MaxMessage
	for {
		if len(dst)-at > most {
			_ = s.Reset(Cancelled)
			return dst[:at], fmt.Errorf("%w: answer to %s is over %d bytes", ErrTooLarge, s.kind, most)
		}
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := s.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case errors.Is(err, io.EOF):
			return dst, nil
		case err != nil && ctx.Err() != nil:
			return dst[:at], ctx.Err()
		case err != nil && err == s.c.Err():
			return dst[:at], &lostError{cause: err, sent: true}
		case err != nil:
			return dst[:at], err
		}
	}
}
