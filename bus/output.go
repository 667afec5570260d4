package bus

import (
	"bytes"
	"sync"
	"time"

	"paddock/bus/internal/protocol"
)

const (
	// smallSlab is the size of a connection's first slab, so that a fan-out to very many takes
	// little memory for each.
	smallSlab = 4 << 10
	// largeSlab is the size of one write: a batch of blockSize and the growth of its messages.
	largeSlab = 128 << 10
)

var (
	smallSlabs = sync.Pool{New: func() any { return &slab{buf: make([]byte, 0, smallSlab)} }}
	largeSlabs = sync.Pool{New: func() any { return &slab{buf: make([]byte, 0, largeSlab)} }}
)

// slab holds whole frames.
type slab struct {
	buf  []byte
	from int // bytes before it were written or dropped
	kept int // no message before it is dropped; it may be less than from
	// control = it is a control frame of WebSocket, as it goes out.
	control bool
	// shared owns the bytes if other slabs have them too: they are not changed. nil = none.
	shared *sharedText
}

// newSlab returns an empty slab with room for n bytes.
func newSlab(n int) *slab {
	switch {
	case n <= smallSlab:
		return smallSlabs.Get().(*slab)
	case n <= largeSlab:
		return largeSlabs.Get().(*slab)
	default:
		return &slab{buf: make([]byte, 0, n)}
	}
}

func (s *slab) room() int { return cap(s.buf) - len(s.buf) }

func (s *slab) unwritten() []byte { return s.buf[s.from:] }

// release returns a slab to its pool and drops its bytes. The garbage collector takes slabs of
// other sizes.
func (s *slab) release() {
	if s.shared != nil {
		s.shared.release()
		return
	}
	if s.control {
		return
	}
	s.buf, s.from, s.kept = s.buf[:0], 0, 0
	switch cap(s.buf) {
	case smallSlab:
		smallSlabs.Put(s)
	case largeSlab:
		largeSlabs.Put(s)
	}
}

// output is the pending output of a connection: whole frames, in order. There is at most one
// writer, the goroutine that has set flushing: one of its own, or one that has routed a batch and
// found no other. An empty output holds no memory. The fields are guarded by the client's lock,
// except for the bytes of inFlight, which belong to the writer.
type output struct {
	slabs    []*slab // in order, without inFlight
	tail     *slab   // the last of slabs, to which bytes are appended; nil = none
	inFlight *slab   // in a write
	urgent   []byte  // a control frame, to be written next
	last     []byte  // a control frame, to be written when all else has been
	pending  int64   // bytes not written yet
	flushing bool
	written  uint64    // bytes since the connection began
	blocking bool      // the writer is a goroutine that may have to wait
	moved    time.Time // while blocking: when that began, or the peer last took bytes
}

// grow makes room for a frame of n bytes, and returns where it goes.
func (o *output) grow(n int) *slab {
	t := o.tail
	if t != nil && t.room() >= n {
		return t
	}
	if t == nil || cap(t.buf) != smallSlab || t.shared != nil {
		o.tail = newSlab(n)
		o.slabs = append(o.slabs, o.tail)
		return o.tail
	}
	// The small one is too small: its contents go on in a large one.
	o.tail = newSlab(max(len(t.unwritten())+n, largeSlab))
	o.tail.buf = append(o.tail.buf, t.unwritten()...)
	o.slabs[len(o.slabs)-1] = o.tail
	t.release()
	return o.tail
}

// append adds one frame.
func (o *output) append(parts ...[]byte) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	s := o.grow(n)
	for _, part := range parts {
		s.buf = append(s.buf, part...)
	}
	o.pending += int64(n)
}

// share adds frames that others get too, without copying them, if they are a large part of t. It is
// for a client that does not keep up: it may have megabytes pending, which are not worth their
// place in the processor's cache.
func (o *output) share(t *sharedText) bool {
	if !o.blocking || len(t.buf) < cap(t.buf)/4*3 {
		return false
	}
	t.refs.Add(1)
	n := len(t.buf)
	o.tail = &slab{buf: t.buf[:n:n], shared: t}
	o.slabs = append(o.slabs, o.tail)
	o.pending += int64(n)
	return true
}

// unshare makes the slab's bytes its own.
func (s *slab) unshare() {
	if t := s.shared; t != nil {
		s.buf, s.shared = bytes.Clone(s.buf), nil
		t.release()
	}
}

// full reports whether a frame of n bytes would begin another slab, so that it is time to write.
func (o *output) full(n int) bool {
	return !o.flushing && o.tail != nil && o.tail.room() < n && cap(o.tail.buf) != smallSlab
}

// next selects the next bytes to write; false = nothing is pending.
func (o *output) next() bool {
	if o.inFlight != nil {
		return true
	}
	switch {
	case o.urgent != nil:
		o.inFlight, o.urgent = &slab{buf: o.urgent, control: true}, nil
		return true
	case len(o.slabs) > 0:
	case o.last != nil:
		o.inFlight, o.last = &slab{buf: o.last, control: true}, nil
		return true
	default:
		return false
	}
	o.inFlight = o.slabs[0]
	if len(o.slabs) == 1 {
		o.slabs[0], o.slabs, o.tail = nil, o.slabs[:0], nil
	} else {
		o.slabs = o.slabs[1:]
	}
	return true
}

// setUrgent has a control frame written before anything that no write has begun
// on, in place of one that waits for it.
func (o *output) setUrgent(frame []byte) {
	o.pending += int64(len(frame) - len(o.urgent))
	o.urgent = frame
}

// setLast has a control frame written after everything else.
func (o *output) setLast(frame []byte) {
	o.pending += int64(len(frame))
	o.last = frame
}

// wrote accounts for n bytes of inFlight and reports whether that was all of it.
func (o *output) wrote(n int) bool {
	o.pending -= int64(n)
	o.written += uint64(n)
	o.inFlight.from += n
	if o.inFlight.from < len(o.inFlight.buf) {
		return false
	}
	o.inFlight.release()
	o.inFlight = nil
	return true
}

// endWrite ends the writer's work.
func (o *output) endWrite() {
	o.flushing, o.blocking = false, false
}

// discard drops everything that is not in a write.
func (o *output) discard() {
	o.pending = 0
	if o.inFlight != nil {
		o.pending = int64(len(o.inFlight.unwritten()))
	}
	for _, s := range o.slabs {
		s.release()
	}
	o.slabs, o.tail, o.urgent, o.last = nil, nil, nil, nil
}

// dropInFlight drops the bytes of a failed write.
func (o *output) dropInFlight() {
	if o.inFlight != nil {
		o.pending -= int64(len(o.inFlight.unwritten()))
		o.inFlight.release()
		o.inFlight = nil
	}
}

// canDrop reports whether the messages that may be dropped have n bytes. Messages in a write are
// not among them. may is asked for each message, by its first line. It is not asked again for those
// before the first one of a slab that may be dropped: they are kept.
func (o *output) canDrop(n int, may func(line []byte) bool) bool {
	waiting := int(o.pending)
	if o.inFlight != nil {
		waiting -= len(o.inFlight.unwritten())
	}
	if n > waiting {
		return false
	}
	for _, s := range o.slabs {
		found := false
		for at := max(s.from, s.kept); at < len(s.buf) && n > 0; {
			size, _, line := frameSize(s.buf[at:])
			if line != nil && may(line) {
				n -= size
				found = true
			}
			if at += size; !found {
				s.kept = at
			}
		}
	}
	return n <= 0
}

// dropOldest removes whole messages from the front of the bytes that are not in a write, until n
// bytes have gone; other frames stay, in their order. may is asked for each message, by its first
// line, and it is dropped if it may be.
func (o *output) dropOldest(n int, may func(line []byte) bool) (messages, payload, gone int) {
	kept := o.slabs[:0]
	for _, s := range o.slabs {
		for at := max(s.from, s.kept); at < len(s.buf) && gone < n; {
			size, bytes, line := frameSize(s.buf[at:])
			if line != nil && may(line) {
				s.unshare()
				copy(s.buf[s.from+size:], s.buf[s.from:at]) // the rest moves up
				s.from += size
				gone += size
				messages++
				payload += bytes
			}
			at += size
			s.kept = at
		}
		if s.from < len(s.buf) {
			kept = append(kept, s)
			continue
		}
		if s == o.tail {
			o.tail = nil
		}
		s.release()
	}
	clear(o.slabs[len(kept):])
	o.slabs = kept
	o.pending -= int64(gone)
	return messages, payload, gone
}

// frameSize returns the size of the frame that b begins with; line is a message's first line and
// payload the bytes that it counts for. line is nil for other frames, of which the broker's own
// answer to a request is one: a status without data.
func frameSize(b []byte) (size, payload int, line []byte) {
	end := bytes.Index(b, lineEnd) + len(lineEnd)
	if b[0] != 'M' && b[0] != 'H' {
		return end, 0, nil
	}
	line = b[:end-len(crlf)]
	payload, _ = protocol.ParseSize(line[bytes.LastIndexByte(line, ' ')+1:])
	size = end + payload + len(crlf)
	if b[0] == 'H' && bytes.HasPrefix(b[end:size], []byte(statusBegin)) && bytes.HasSuffix(b[end:size], []byte("\r\n\r\n\r\n")) {
		return size, 0, nil
	}
	return size, payload, line
}
