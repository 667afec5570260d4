package wire

import (
	"errors"
	"net"
	"sync"

	"paddock/internal/netio/nowait"
)

const (
	// maxRecord is how much one TLS record carries.
	maxRecord = 16 << 10
	// corkPiece is how many bytes are encrypted for one write: with their records
	// they fit a block.
	corkPiece = 64 << 10
	// maxHeld bounds the bytes in a cork. The writer never holds so much: the bound is for a peer
	// that asks for new keys again and again, and takes nothing.
	maxHeld = 1 << 20
)

var (
	errCorkFull = errors.New("wire: TLS: peer asks for keys and takes nothing")
	// errEmptyCork ends a read of records when all received records are read. It is a temporary
	// net.Error, so the tls.Conn stays usable.
	errEmptyCork net.Error = emptyCork{}
)

type emptyCork struct{}

func (emptyCork) Error() string   { return "wire: no record has come" }
func (emptyCork) Timeout() bool   { return true }
func (emptyCork) Temporary() bool { return true }

// cork stands between a tls.Conn and the network. A tls.Conn makes one write for each record of 16
// KiB; a cork gathers records until they are flushed. A tls.Conn waits in Read and Write; a cork
// accepts all written bytes, and reads the received ones. It never waits, except during the
// handshake: until attach it is the connection itself.
//
// Records that tls.Conn writes by itself, on the goroutine that reads (the answer to a KeyUpdate,
// an alert), wait here too, in their order, for the next flush. That is soon enough: RFC 8446
// section 4.6.3 wants the answer ahead of our next data, and after an alert the connection is
// closed, which flushes.
//
// Where the system gathers by itself (MSG_MORE, tcp(7)), and nothing waits, records
// go to it at once: the copy is saved, and it finds them in the processor's cache.
type cork struct {
	net.Conn
	shaking  net.Conn       // the connection in the handshake of a server, nil otherwise
	writer   *nowait.Writer // guarded by mu; nil: tryFlush waits
	direct   bool           // records need not wait here
	attached bool           // set before anybody reads or writes
	records  recordFiller   // the writer's

	mu   sync.Mutex
	next []byte // guarded by mu: records that flush has not taken
	out  []byte // records that flush has taken; the writer's, but changed under mu
	sent int    // of out; likewise

	// The reader's.
	receiver nowait.Receiver // with a socket, as are the next three
	fd       uintptr
	tells    bool
	spent    bool   // nothing is left
	block    *block // without a socket
	from, to int
}

// corkBuffers are those of corks that hold nothing, as idle connections do.
var corkBuffers = sync.Pool{New: func() any { b := make([]byte, 0, blockSize); return &b }}

// attach makes c a cork. writer is nil if there is no access to the socket; tells is the result of
// tune.
func (c *cork) attach(writer *nowait.Writer, tells bool) {
	c.writer, c.tells, c.attached, c.spent = writer, tells, true, true
	_, tcp := c.Conn.(*net.TCPConn)
	c.direct = tcp && writer != nil && nowait.Gathers
}

// Write holds b, or gives it to the socket and holds the rest.
func (c *cork) Write(b []byte) (n int, err error) {
	if !c.attached {
		if c.shaking != nil {
			return c.shaking.Write(b)
		}
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.direct && len(c.next) == 0 && !c.held() {
		if n, err = c.writer.TryWrite(b); err != nil || n == len(b) {
			return n, err
		}
	}
	if len(c.next)+len(b)-n > maxHeld {
		return n, errCorkFull
	}
	if c.next == nil {
		c.next = (*corkBuffers.Get().(*[]byte))[:0]
	}
	c.next = append(c.next, b[n:]...)
	return len(b), nil
}

// follows sets whether the next record will be followed by another one at once.
func (c *cork) follows(more bool) {
	if c.writer != nil {
		c.mu.Lock()
		c.writer.More = more
		c.mu.Unlock()
	}
}

// waiting returns the number of bytes that were not flushed yet.
func (c *cork) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out) - c.sent + len(c.next)
}

// held reports whether the socket has not taken all of the last flush. The writer may ask without
// the lock.
func (c *cork) held() bool { return c.sent < len(c.out) }

// takeLocked makes the waiting records the next to be written, if none are being written. It
// reports whether there are bytes to write. c.mu is held.
func (c *cork) takeLocked() bool {
	if c.held() {
		return true
	}
	if c.out != nil {
		if b := c.out[:0]; cap(b) <= 2*blockSize {
			corkBuffers.Put(&b)
		}
	}
	c.out, c.sent, c.next = c.next, 0, nil
	return len(c.out) > 0
}

// flush writes all that waits.
func (c *cork) flush() error {
	for {
		c.mu.Lock()
		some := c.takeLocked()
		c.mu.Unlock()
		if !some {
			return nil
		}
		n, err := c.Conn.Write(c.out[c.sent:])
		c.mu.Lock()
		c.sent += n
		c.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// tryFlush writes as much as the socket takes at once.
func (c *cork) tryFlush() error {
	if c.writer == nil {
		return c.flush()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.takeLocked() {
		n, err := c.writer.TryWrite(c.out[c.sent:])
		if c.sent += n; err != nil || c.held() {
			return err
		}
	}
	return nil
}

// Read returns received bytes.
func (c *cork) Read(b []byte) (int, error) {
	switch {
	case c.shaking != nil:
		return c.shaking.Read(b)
	case !c.attached:
		return c.Conn.Read(b)
	case c.writer == nil && c.from < c.to:
		n := copy(b, c.block.buf[c.from:c.to])
		c.from += n
		return n, nil
	case c.writer == nil || c.spent:
		return 0, errEmptyCork
	}
	n, more, wait, err := c.receiver.Receive(c.fd, b, c.tells)
	if c.spent = wait || !more; wait {
		return 0, errEmptyCork
	}
	return n, err
}

// ready records that bytes have been received, which Read may take from fd without waiting.
func (c *cork) ready(fd uintptr) { c.fd, c.spent = fd, false }

// fill waits for bytes, where there is no way to read without waiting.
func (c *cork) fill() (err error) {
	if c.block == nil {
		c.block = newBlock(blockSize)
	}
	c.from = 0
	c.to, err = c.Conn.Read(c.block.buf)
	if c.to > 0 {
		return nil
	}
	return err
}

// giveBack releases the block.
func (c *cork) giveBack() {
	if c.block != nil {
		c.block.release()
		c.block, c.from, c.to = nil, 0, 0
	}
}

// recordFiller makes records of maxRecord bytes out of pieces: each record costs
// as much as several hundred bytes. Long pieces are not copied. It is the writer's.
//
// The first record goes at once, and the others together: while these are made the
// peer is at work on that one. All together would be cheaper only if the peer had
// nothing to do meanwhile (BenchmarkTLSBulk).
type recordFiller struct {
	buf   []byte // of the last record, which waits for end
	begun bool   // the first one is out
}

// add writes the records that b fills.
func (f *recordFiller) add(s *secured, b []byte) error {
	if len(f.buf) > 0 {
		n := min(len(b), maxRecord-len(f.buf))
		f.buf = append(f.buf, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return nil
		}
		if err := f.write(s, f.buf, true); err != nil {
			return err
		}
		f.buf = f.buf[:0]
	}
	for len(b) > maxRecord {
		if err := f.write(s, b[:maxRecord], true); err != nil {
			return err
		}
		b = b[maxRecord:]
	}
	f.buf = append(f.buf, b...)
	return nil
}

// end writes the last record.
func (f *recordFiller) end(s *secured) error {
	err := f.write(s, f.buf, false)
	f.buf, f.begun = f.buf[:0], false
	return err
}

func (f *recordFiller) write(s *secured, record []byte, more bool) error {
	s.cork.follows(more && f.begun)
	f.begun = true
	_, err := s.Conn.Write(record)
	return err
}
