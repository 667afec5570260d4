package wire

import (
	"fmt"
	"io"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

const (
	// minRead is the least room for which a read is worth its call.
	minRead = 4 << 10
	// batchFrames is how many frames are judged in one go, that is under one lock.
	batchFrames = 64
	// lateMost is how many bytes of a stream its reader may be told of late.
	lateMost = 128 << 10
	// batchReplies is how many bytes of inline answers gather before they are put
	// into the output.
	batchReplies = 64 << 10
)

// reader holds the bytes that have come and are not dealt with: of block, those
// from from up to to. An idle reader has no block. It belongs to readLoop.
type reader struct {
	block    *block
	from, to int
	opened   bool // the preface has come
	lent     bool // the block before was

	// A stream whose reader is still to be woken. To wake another goroutine costs
	// as much as to decrypt a record: where more has come already, bulk gathers.
	gathers   bool // the reader calls wakeLate before it waits
	late      *Stream
	lateBytes int

	deliveries []delivery
	handed     []handedOver
	replies    []byte
	answers    []answer
	woken      []*call
	handlers   []*handler // by the peer's kinds
	later      bool       // the handler that runs has called Request.Later
	postsDone  int        // bytes whose handlers have returned
	inline     Posts
}

// bytes returns the received bytes that are not consumed.
func (r *reader) bytes() []byte {
	if r.block == nil {
		return nil
	}
	return r.block.buf[r.from:r.to:r.to]
}

// room is where the next bytes go. Earlier ones keep their place, as slices of
// them have been lent; what is left of a frame moves to a new block if the rest
// would not fit.
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
	// Memory grows with what has come, not with what was announced.
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

// fresh is a block to read into.
func (r *reader) fresh() *block {
	if r.lent {
		return warmBlock()
	}
	return newBlock(blockSize)
}

// drop lets go of the block.
func (r *reader) drop() {
	r.lent = r.block.lent
	r.block.release()
}

// giveBack lets go of the block if it holds nothing.
func (r *reader) giveBack() {
	if r.block != nil && r.from == r.to {
		r.drop()
		r.block = nil
	}
}

// putOff says whether the reader of s is woken later for n bytes that have come.
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

// readLoop feeds the machine until the connection ends; its end is the end of the
// connection.
func (c *Conn) readLoop() {
	defer c.tasks.Done()
	err := c.sock.readAll(&c.in, c.arrived)
	c.answerAll()
	c.fail(c.readError(err))
	c.leaveSession()
	c.in.from = c.in.to
	c.in.giveBack()
}

// arrived deals with all complete frames that have come. Answers of inline handlers
// leave together at its end.
func (c *Conn) arrived() error {
	if !c.in.opened {
		n, err := frame.CheckPreface(c.in.bytes())
		if n == 0 || err != nil {
			return err
		}
		c.in.from += n
		c.in.opened = true
	}
	for more := true; more; {
		var err error
		if more, err = c.batch(); err != nil {
			return err
		}
	}
	c.answerAll()
	c.mu.Lock()
	c.reportHanded()
	c.delivering = false
	c.settled()
	c.flushAndUnlock(false)
	c.in.giveBack()
	return nil
}

// readError says what the end of the bytes means.
func (c *Conn) readError(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
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

// batch judges the complete frames that have come, up to batchFrames of them, and
// then does what they ask for. It says whether there may be more.
func (c *Conn) batch() (more bool, err error) {
	in := &c.in
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return false, ErrClosed
	}
	c.m.Heard(c.now())
	c.reportHanded()
	in.deliveries = in.deliveries[:0]
	var ev machine.Event
	hello := false
	for len(in.deliveries) < batchFrames && !hello {
		n, e := c.m.Feed(in.bytes(), &ev)
		if err = e; n == 0 {
			break
		}
		in.from += n
		more = true
		if ev.Op != machine.OpNone {
			c.note(&ev)
			hello = ev.Op == machine.OpHello
		}
		if err != nil {
			break
		}
	}
	c.delivering = err == nil || len(in.deliveries) > 0
	more = more && (hello || len(in.deliveries) == batchFrames)
	c.mu.Unlock()
	for i, call := range in.woken {
		call.answered <- struct{}{}
		in.woken[i] = nil
	}
	in.woken = in.woken[:0]
	for i := range in.deliveries {
		if e := c.deliver(&in.deliveries[i]); e != nil {
			return false, e
		}
	}
	clear(in.deliveries)
	if err != nil { // what came before it has been dealt with
		c.mu.Lock()
		c.delivering = false
		c.mu.Unlock()
	}
	return more, err
}
