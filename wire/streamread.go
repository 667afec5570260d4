package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// reportAt is the number of bytes that a reader takes before it returns their credit. It returns
// the credit at once when no more bytes are buffered.
const reportAt = 4 << 10

// maxEmpties bounds the messages without bytes that wait on a stream: neither credit
// nor, between others with bytes, the count of useless frames does.
const maxEmpties = machine.MaxUseless

// receiveQueue holds the received bytes of a stream. Long pieces stay in the block that they were
// read into; short ones are copied, so that they do not hold back a block that is much larger. It
// is guarded by Stream.mu.
type receiveQueue struct {
	chunks  []chunk
	first   int    // index in chunks
	piece   []byte // the rest of the piece that is being read
	last    bool   // the message ends with it
	empties int    // messages without bytes that wait; they cost no credit
	ended   bool   // no more will come
	taken   int    // bytes that were read and not reported
}

// chunk is one long piece, or a small block with short ones, each behind its
// length and, in bit 0, whether a message ends there.
type chunk struct {
	block *block
	bytes []byte
	small bool
	last  bool
}

const pieceHeader = 4

// push adds a piece. long is the block that it lies in.
func (q *receiveQueue) push(long *block, b []byte, last bool) {
	if len(b) == 0 {
		q.empties++
	}
	if len(b) > smallBlockSize-pieceHeader {
		long.lent = long.pool == &blocks
		long.retain()
		q.add(chunk{block: long, bytes: b, last: last})
		return
	}
	tail := len(q.chunks) - 1
	if tail < q.first || !q.chunks[tail].small || cap(q.chunks[tail].bytes)-len(q.chunks[tail].bytes) < pieceHeader+len(b) {
		small := newBlock(smallBlockSize)
		q.add(chunk{block: small, bytes: small.buf[:0], small: true})
		tail = len(q.chunks) - 1
	}
	header := uint32(len(b)) << 1
	if last {
		header |= 1
	}
	t := &q.chunks[tail]
	t.bytes = append(binary.LittleEndian.AppendUint32(t.bytes, header), b...)
}

func (q *receiveQueue) add(c chunk) {
	if q.first > 0 && q.first == len(q.chunks) {
		q.chunks, q.first = q.chunks[:0], 0
	}
	q.chunks = append(q.chunks, c)
}

// next makes piece the next one, if there is one. A message without bytes is an
// empty piece.
func (q *receiveQueue) next() bool {
	for q.first < len(q.chunks) {
		c := &q.chunks[q.first]
		switch {
		case !c.small && c.bytes != nil:
			q.piece, q.last, c.bytes = c.bytes, c.last, nil
			return true
		case c.small && len(c.bytes) > 0:
			header := binary.LittleEndian.Uint32(c.bytes)
			end := pieceHeader + int(header>>1)
			q.piece, q.last = c.bytes[pieceHeader:end:end], header&1 == 1
			if c.bytes = c.bytes[end:]; end == pieceHeader {
				q.empties--
			}
			return true
		}
		c.block.release()
		*c = chunk{}
		q.first++
	}
	q.chunks, q.first = q.chunks[:0], 0
	return false
}

// settle gives blocks back that hold nothing any more.
func (q *receiveQueue) settle() {
	if len(q.piece) > 0 || q.first == len(q.chunks) {
		return
	}
	if c := &q.chunks[q.first]; len(c.bytes) == 0 {
		q.piece = nil
		c.block.release()
		*c = chunk{}
		if q.first++; q.first == len(q.chunks) {
			q.chunks, q.first = q.chunks[:0], 0
		}
	}
}

// empty reports whether nothing waits.
func (q *receiveQueue) empty() bool { return len(q.piece) == 0 && q.first == len(q.chunks) }

// drop drops all bytes, and returns how many are to be reported.
func (q *receiveQueue) drop() (n int) {
	n = q.taken + len(q.piece)
	q.piece, q.taken = nil, 0
	for q.next() {
		n += len(q.piece)
		q.piece = nil
	}
	return n
}

// push adds the bytes of a frame. It runs on the connection's reader, which lends its block. ok is
// false if too many messages without bytes wait.
func (s *Stream) push(in *dispatcher, b []byte, flags frame.Flags) (ok bool) {
	s.mu.Lock()
	dropped := 0
	handed := s.handOverLocked(in, b)
	b = b[handed:]
	switch {
	case s.failed != nil:
		dropped = len(b)
	case len(b) > 0 || handed == 0 && flags&(frame.FlagEnd|frame.FlagMore) == 0:
		s.queue.push(in.block, b, flags&frame.FlagMore == 0)
	}
	if flags&frame.FlagEnd != 0 {
		s.queue.ended = true
	}
	ok = s.queue.empties <= maxEmpties
	s.mu.Unlock()
	if handed > 0 && len(b) == 0 && flags&frame.FlagEnd == 0 {
		return ok
	}
	if len(b) < smallBlockSize || flags&frame.FlagEnd != 0 || !in.putOff(s, len(b)) {
		s.wakeReader()
	}
	if dropped > 0 {
		s.lose(dropped)
		s.consume(dropped)
	}
	return ok
}

// Read returns received bytes, across the borders of messages, and waits for at least a byte.
// io.EOF is the end of the peer's half; *Error its reset or refusal; os.ErrDeadlineExceeded the
// read deadline; any other error the reason why the connection has ended.
func (s *Stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		for len(s.queue.piece) > 0 || s.queue.next() {
			if len(s.queue.piece) == 0 && len(p) > 0 {
				continue // a message without bytes
			}
			n := copy(p, s.queue.piece)
			s.queue.piece = s.queue.piece[n:]
			s.read(n)
			return n, nil
		}
		if err := s.wait(); err != nil {
			return 0, err
		}
	}
}

// Readable reports whether Read and ReadMsg would find bytes, or the end, without waiting; of a
// long message it may be only the beginning.
func (s *Stream) Readable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.queue.empty() || s.queue.ended || s.failed != nil
}

// read ends a read of n bytes. Stream.mu is held, and released.
func (s *Stream) read(n int) {
	q := &s.queue
	q.settle()
	q.taken += n
	report := 0
	more := !q.empty()
	if !more || q.taken >= reportAt {
		report, q.taken = q.taken, 0
	}
	s.mu.Unlock()
	if more {
		s.wakeReader()
	}
	s.consume(report)
}

// wait waits for something to read, or returns why nothing will come. Stream.mu is
// held, and released.
func (s *Stream) wait() error {
	err := s.failed
	if err == nil && s.queue.ended {
		err = io.EOF
	}
	s.mu.Unlock()
	if err != nil {
		s.wakeReader() // the next one is to see it too
		return err
	}
	select {
	case <-s.arrive:
		return nil
	default:
	}
	if s.readBy.over() {
		return os.ErrDeadlineExceeded
	}
	select {
	case <-s.arrive:
	case <-s.readBy.wait():
		if s.readBy.over() {
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

// ReadMsg appends the next message to dst: the argument of one WriteMsg of the peer. A message
// longer than Config.MaxMessage fails with ErrTooLarge. The result then has its beginning, and the
// rest can still be read.
func (s *Stream) ReadMsg(dst []byte) ([]byte, error) {
	return s.ReadMsgUpTo(dst, s.c.config.MaxMessage)
}

// ReadMsgUpTo is ReadMsg with the bound most in place of Config.MaxMessage. A longer message fails
// before all of it has arrived.
func (s *Stream) ReadMsgUpTo(dst []byte, most int) ([]byte, error) {
	at := len(dst)
	for {
		s.mu.Lock()
		for len(s.queue.piece) > 0 || s.queue.next() {
			n := len(s.queue.piece)
			if len(dst)-at+n > most {
				s.mu.Unlock()
				return dst, fmt.Errorf("%w: message on %s", ErrTooLarge, s.kind)
			}
			dst = append(dst, s.queue.piece...)
			s.queue.piece = nil
			last := s.queue.last
			s.read(n)
			if last {
				return dst, nil
			}
			s.mu.Lock()
		}
		if err := s.wait(); err != nil {
			if errors.Is(err, io.EOF) && len(dst) > at {
				err = io.ErrUnexpectedEOF
			}
			return dst, err
		}
	}
}

// WriteTo writes received bytes to w until the peer's half ends. It does not copy long pieces. If w
// is a TryWriter, the reader of the connection writes short pieces to w itself while WriteTo waits:
// that saves waking the caller.
func (s *Stream) WriteTo(w io.Writer) (total int64, err error) {
	var to *direct
	if try, ok := w.(TryWriter); ok {
		to = &direct{w: try}
	}
	for {
		s.mu.Lock()
		if to != nil {
			total, to.n, s.to = total+to.n, 0, nil
		}
		for len(s.queue.piece) > 0 || s.queue.next() {
			b, block := s.queue.piece, s.queue.chunks[s.queue.first].block
			block.retain()
			s.queue.piece = nil
			s.read(len(b))
			n, err := w.Write(b)
			block.release()
			total += int64(n)
			if err != nil {
				return total, err
			}
			s.mu.Lock()
		}
		s.to = to
		if err := s.wait(); err != nil {
			total += s.leaveTo(to)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return total, err
		}
	}
}

// leaveTo ends the work of the connection's reader for a WriteTo, and returns the bytes that it has
// written since that began to wait.
func (s *Stream) leaveTo(to *direct) int64 {
	if to == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = nil
	return to.n
}

// lose counts n received bytes that will not be read.
func (s *Stream) lose(n int) {
	if n > 0 {
		s.c.mu.Lock()
		s.c.stats.unread += uint64(n)
		s.c.mu.Unlock()
	}
}

// consume gives the credit of n bytes back, which makes the window grow if it limits the peer.
func (s *Stream) consume(n int) {
	if n == 0 {
		return
	}
	c := s.c
	c.mu.Lock()
	s.tune(n)
	c.m.Consume(s.slot(), n)
	if len(c.m.Grants) > 0 || c.m.ConnDue {
		c.out.flushAndUnlock(false)
		return
	}
	c.mu.Unlock()
}
