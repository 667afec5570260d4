package wire

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
)

const (
	// maxRecord is how much one TLS record carries.
	maxRecord = 16 << 10
	// corkPiece is how many bytes are encrypted for one write: with their records
	// they fit a block.
	corkPiece = 64 << 10
	// maxHeld bounds what waits in a cork. The writer never holds so much: it is
	// for a peer that asks for new keys again and again, and takes nothing.
	maxHeld = 1 << 20
)

var (
	errCorkFull = errors.New("wire: TLS: peer asks for keys and takes nothing")
	// errEmptyCork ends a read of records when those that have come are read. As a
	// net.Error that is temporary it leaves the tls.Conn as it was.
	errEmptyCork net.Error = emptyCork{}
)

type emptyCork struct{}

func (emptyCork) Error() string   { return "wire: no record has come" }
func (emptyCork) Timeout() bool   { return true }
func (emptyCork) Temporary() bool { return true }

// cork is what a tls.Conn takes for the network. tls.Conn makes one write for each
// record of 16 KiB, and one read; a cork gathers records until they are flushed,
// so that many of them leave in one write, and what has come in one read is given
// out as tls.Conn asks for it. It never waits in Read or Write, but for the
// handshake: until attach it is the connection itself.
//
// What tls.Conn writes by itself, on the goroutine that reads (the answer to a
// KeyUpdate, an alert), waits here too, in its order, for the next flush. That is
// soon enough: RFC 8446 section 4.6.3 wants the answer ahead of our next data, and
// after an alert the connection is closed, which flushes.
type cork struct {
	net.Conn
	raw      syscall.RawConn // nil: tryFlush waits
	attached bool            // set before anybody reads or writes

	mu   sync.Mutex
	next []byte // records that flush has not taken; guarded by mu

	// The writer's.
	out     []byte // records that flush has taken
	sent    int    // of out
	tryErr  error
	tryOnce func(fd uintptr) bool
	records recordFiller

	// The reader's.
	block    *block // nil: nothing has come; gone when the reader waits
	from, to int
}

// corkBuffers are those of corks that hold nothing, as idle connections do.
var corkBuffers = sync.Pool{New: func() any { b := make([]byte, 0, blockSize); return &b }}

func (c *cork) attach(raw syscall.RawConn) {
	c.raw, c.attached = raw, true
	c.tryOnce = c.trySyscall
}

// Write holds b.
func (c *cork) Write(b []byte) (int, error) {
	if !c.attached {
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.next)+len(b) > maxHeld {
		return 0, errCorkFull
	}
	if c.next == nil {
		c.next = (*corkBuffers.Get().(*[]byte))[:0]
	}
	c.next = append(c.next, b...)
	return len(b), nil
}

// waiting is how many bytes were not flushed yet.
func (c *cork) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.out) - c.sent + len(c.next)
}

// held says whether the socket has not taken all of the last flush.
func (c *cork) held() bool { return c.sent < len(c.out) }

// take makes what waits the next to be written, if nothing else is. It says
// whether there is something to write.
func (c *cork) take() bool {
	if c.held() {
		return true
	}
	if c.out != nil {
		if b := c.out[:0]; cap(b) <= 2*blockSize {
			corkBuffers.Put(&b)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out, c.sent, c.next = c.next, 0, nil
	return len(c.out) > 0
}

// flush writes all that waits.
func (c *cork) flush() error {
	for c.attached && c.take() {
		n, err := c.Conn.Write(c.out[c.sent:])
		if c.sent += n; err != nil {
			return err
		}
	}
	return nil
}

// tryFlush writes what the socket takes at once.
func (c *cork) tryFlush() error {
	if c.raw == nil {
		return c.flush()
	}
	for c.take() {
		c.tryErr = nil
		if err := c.raw.Write(c.tryOnce); err != nil {
			return err
		}
		if c.tryErr != nil || c.held() {
			return c.tryErr
		}
	}
	return nil
}

func (c *cork) trySyscall(fd uintptr) bool {
	var n int
	n, c.tryErr = sendNow(fd, c.out[c.sent:])
	c.sent += n
	return true
}

// Read gives out what has come.
func (c *cork) Read(b []byte) (int, error) {
	switch {
	case !c.attached:
		return c.Conn.Read(b)
	case c.from == c.to:
		return 0, errEmptyCork
	}
	n := copy(b, c.block.buf[c.from:c.to])
	c.from += n
	return n, nil
}

// room is where what comes next goes; it is called when nothing is left.
func (c *cork) room() []byte {
	if c.block == nil {
		c.block = newBlock(blockSize)
	}
	c.from, c.to = 0, 0
	return c.block.buf
}

// giveBack lets go of the block if it holds nothing.
func (c *cork) giveBack() {
	if c.block != nil && c.from == c.to {
		c.block.release()
		c.block = nil
	}
}

// recordFiller makes records of maxRecord bytes out of pieces: each record costs
// as much as several hundred bytes. Long pieces are not copied. It is the writer's.
type recordFiller struct {
	to  *tls.Conn
	buf []byte // less than a record
}

func (f *recordFiller) add(b []byte) error {
	if len(f.buf) > 0 {
		n := min(len(b), maxRecord-len(f.buf))
		f.buf = append(f.buf, b[:n]...)
		if b = b[n:]; len(f.buf) < maxRecord {
			return nil
		}
		if err := f.end(); err != nil {
			return err
		}
	}
	if whole := len(b) / maxRecord * maxRecord; whole > 0 {
		if _, err := f.to.Write(b[:whole]); err != nil {
			return err
		}
		b = b[whole:]
	}
	f.buf = append(f.buf, b...)
	return nil
}

// end writes what is left as a record.
func (f *recordFiller) end() error {
	if len(f.buf) == 0 {
		return nil
	}
	_, err := f.to.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}
