package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"paddock/internal/wire/frame"
)

// Stream carries bytes, or messages, both ways. It is a net.Conn with two halves:
// CloseWrite ends ours, and the peer's lives on. All methods may be called by any
// number of goroutines at once.
//
// Bytes that arrive wait here until they are read, at most as many as the window
// of the stream, which the peer knows. No memory is held while none wait.
type Stream struct {
	c        *Conn
	id       frame.Slot
	kind     string
	meta     Meta
	confirm  bool          // the peer waits for Accept
	decision chan struct{} // closed by RES; nil: none is awaited
	head     []byte        // of RES
	verdict  error         // of RES; with head readable after decision

	ctx    context.Context // of the handler, nil for streams of ours
	cancel context.CancelCauseFunc

	writing sync.Mutex // one Write at a time
	sender             // guarded by Conn.mu
	writeBy deadline

	mu     sync.Mutex
	queue  receiveQueue  // guarded by mu
	failed error         // guarded by mu; the error of reads once the queue is empty
	to     *direct       // guarded by mu; of a WriteTo that waits, nil: there is none
	cut    func()        // guarded by mu; of WhenCut, nil: none
	arrive chan struct{} // holds a value if reads may go on
	readBy deadline
}

var (
	_ net.Conn    = (*Stream)(nil)
	_ io.WriterTo = (*Stream)(nil)
)

// newStream makes the stream of a live slot. Conn.mu is held.
func (c *Conn) newStream(id frame.Slot, kind string, meta *Meta) *Stream {
	s := &Stream{c: c, id: id, kind: kind, arrive: make(chan struct{}, 1)}
	s.sent = make(chan struct{}, 1)
	if meta != nil && meta.Raw != nil {
		s.meta = frame.CloneMeta(meta)
	}
	s.tuning.window = int(c.m.Self.StreamInitial)
	return s
}

// slot returns the slot of the stream for the machine, or no slot if it has other work: the number
// of a stream that has ended comes again. Conn.mu is held.
func (s *Stream) slot() frame.Slot {
	if s.c.slots.stream(s.id) != s {
		return 0
	}
	return s.id
}

// OpenOptions are the options of Open.
type OpenOptions struct {
	// First is data that goes along with OPEN, as a message. It is copied, and must
	// fit the first credit and a frame; not together with Confirm.
	First []byte
	// Confirm waits for the peer to accept before any byte is sent: then Open
	// returns after one round trip, with the refusal if there is one.
	Confirm bool
	// Meta is sent along.
	Meta Meta
	// SlotFree is called once: when the stream has ended on both sides, when the connection has
	// ended, or if nothing was sent; see CallOptions.
	SlotFree func()
}

// Open opens a stream of a kind that the peer serves. It does not wait for the
// peer, but with Confirm, or when no slot or no credit for First is left: until ctx
// ends, which does not bound the stream. A refusal shows as *Error in Read and Write.
func (c *Conn) Open(ctx context.Context, kind string, o OpenOptions) (*Stream, error) {
	s, err := c.slots.open(ctx, kind, &o)
	if err != nil {
		if o.SlotFree != nil {
			o.SlotFree()
		}
		return nil, err
	}
	if o.Confirm {
		if _, err := s.Accepted(ctx); err != nil {
			_ = s.Reset(Cancelled)
			return nil, err
		}
	}
	return s, nil
}

// open sends OPEN, once there is a slot, and credit for First. Conn.mu is not held.
func (t *slotTable) open(ctx context.Context, kind string, o *OpenOptions) (*Stream, error) {
	c := t.c
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var flags frame.Flags
	if o.Confirm {
		flags = frame.FlagConfirm
	}
	meta, err := frame.EncodeMeta(&o.Meta)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	for {
		number, err := c.kindNumber(kind)
		var id frame.Slot
		if err == nil {
			id, err = c.m.Open(number, flags, 0, meta, o.First)
		}
		if err == nil {
			s := c.newStream(id, kind, nil)
			if o.Confirm {
				s.decision = make(chan struct{})
			}
			t.begin(id).stream = s
			t.whenFree(id, o.SlotFree)
			c.out.flushAndUnlock(false)
			return s, nil
		}
		until := &t.free
		if errors.Is(err, ErrNoCredit) {
			until = &c.windows.credit
		} else if !errors.Is(err, ErrNoSlot) {
			err = c.notSent(err)
			c.mu.Unlock()
			return nil, err
		}
		c.out.mustWake()
		if err := until.wait(ctx, &c.mu); err != nil {
			c.mu.Unlock()
			return nil, err
		}
	}
}

// Kind returns the kind of the stream.
func (s *Stream) Kind() string { return s.kind }

// Meta returns the metadata of OPEN.
func (s *Stream) Meta() *Meta { return &s.meta }

// Conn is the connection of the stream.
func (s *Stream) Conn() *Conn { return s.c }

// Accepted waits for the peer's decision about a stream opened with Confirm, or for the head of the
// answer to a request whose body is the stream. It returns the head that the peer sent with it, or
// the peer's refusal, an *Error.
func (s *Stream) Accepted(ctx context.Context) (head []byte, err error) {
	if s.decision == nil {
		return nil, nil
	}
	s.c.mu.Lock()
	s.c.out.mustWake()
	s.c.mu.Unlock()
	select {
	case <-s.decision:
		return s.head, s.verdict
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept tells the peer that opened the stream with Confirm that it is taken, with
// a head of the handler's choice. The first Write and the handler's return accept
// as well.
func (s *Stream) Accept(head []byte) error {
	s.c.mu.Lock()
	if !s.confirm {
		s.c.mu.Unlock()
		return ErrSlot
	}
	s.confirm = false
	err := s.c.m.Respond(s.id, nil, head, true)
	s.c.out.flushAndUnlock(false)
	return err
}

// decide handles RES for a stream that this side has opened, or for a request whose body it is.
func (s *Stream) decide(head []byte, flags frame.Flags, err error) {
	if err != nil {
		s.end(err)
		return
	}
	s.mu.Lock()
	s.ruleLocked(append([]byte(nil), head...), nil)
	if flags&frame.FlagMore == 0 {
		s.queue.ended = true
	}
	s.mu.Unlock()
	s.wakeReader()
}

// ruleLocked wakes the goroutines that wait for the decision. The first decision counts. Instead of
// deciding, a peer may reset the stream, and the connection may end. Stream.mu is held.
func (s *Stream) ruleLocked(head []byte, verdict error) {
	if s.decision != nil && !isClosed(s.decision) {
		s.head, s.verdict = head, verdict
		close(s.decision)
	}
}

// Close ends both halves. Bytes that were written are still sent, received bytes are dropped, and
// further reads and writes get net.ErrClosed. It does not wait for the peer. A stream or request of
// ours that the peer has not ended after 60 s is reset or cancelled.
func (s *Stream) Close() error {
	s.c.mu.Lock()
	s.stopLocked(net.ErrClosed)
	_ = s.endWriteLocked()
	_ = s.c.m.Stop(s.slot(), Cancelled)
	s.c.slots.linger(s)
	s.c.out.flushAndUnlock(false)
	s.end(net.ErrClosed)
	return nil
}

// Reset ends both halves at once; the peer's reads and writes fail with code, which is not 0, and
// ours with net.ErrClosed. ErrSlot means that both had ended.
func (s *Stream) Reset(code Code) error { return s.abort(code, net.ErrClosed) }

// abort is Reset after which reads and writes here fail with why.
func (s *Stream) abort(code Code, why error) error {
	s.c.mu.Lock()
	id := s.slot()
	err := s.c.m.Reset(id, code)
	if errors.Is(err, ErrSlot) && s.id.Side() == s.c.role {
		err = s.c.m.Cancel(id)
	}
	s.stopLocked(why)
	s.c.out.flushAndUnlock(false)
	s.end(why)
	return err
}

// WhenCut sets a function that is called once, on a goroutine of its own, if the stream does not
// end regularly: either side has reset it, it was closed, or its connection has ended before the
// peer's half. f replaces an earlier function; nil removes it. It is for a relay that is blocked on
// its other side, and would not look at the stream until that accepts bytes.
func (s *Stream) WhenCut(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut = f; s.failed != nil {
		s.cutLocked()
	}
}

// cutLocked calls the function of WhenCut. Stream.mu is held.
func (s *Stream) cutLocked() {
	if s.cut != nil {
		go s.cut()
		s.cut = nil
	}
}

// end fails reads with err, and drops the bytes that wait to be read.
func (s *Stream) end(err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	s.cutLocked()
	s.ruleLocked(nil, err)
	unread := -s.queue.taken
	dropped := s.queue.drop()
	unread += dropped
	s.mu.Unlock()
	s.wakeReader()
	if s.cancel != nil {
		s.cancel(err)
	}
	s.c.mu.Lock()
	s.leave()
	s.c.mu.Unlock()
	s.lose(unread)
	s.consume(dropped)
}

// failLocked ends the stream because its connection has ended; received bytes can still be read.
// Conn.mu is held, and Stream.mu is taken under it.
func (s *Stream) failLocked(err error) {
	s.stopLocked(err)
	s.noMore(err)
	s.mu.Lock()
	s.ruleLocked(nil, &lostError{cause: err, sent: true})
	s.mu.Unlock()
	if s.cancel != nil {
		s.cancel(err)
	}
}

// noMore fails reads with err behind the bytes that have arrived, unless the peer's half has ended.
func (s *Stream) noMore(err error) {
	s.mu.Lock()
	if s.failed == nil && !s.queue.ended {
		s.failed = err
		s.cutLocked()
	}
	s.mu.Unlock()
	s.wakeReader()
}

// wakeReader lets one reader look again; it wakes the next.
func (s *Stream) wakeReader() {
	select {
	case s.arrive <- struct{}{}:
	default:
	}
}

// LocalAddr is that of the connection.
func (s *Stream) LocalAddr() net.Addr { return s.c.LocalAddr() }

// RemoteAddr is that of the connection.
func (s *Stream) RemoteAddr() net.Addr { return s.c.RemoteAddr() }

// SetDeadline sets both deadlines.
func (s *Stream) SetDeadline(t time.Time) error {
	s.readBy.set(t)
	s.writeBy.set(t)
	return nil
}

// SetReadDeadline bounds how long reads wait for bytes.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.readBy.set(t)
	return nil
}

// SetWriteDeadline bounds how long writes wait for credit. Bytes that are in the
// socket's hands are waited for all the same.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.writeBy.set(t)
	return nil
}
