package relay

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/nowait"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

const (
	// maxMessage bounds a record of any kind: the longest is a head behind its first byte.
	maxMessage = 1 + h1.MaxHead
	// MaxOpening bounds the message that begins a stream.
	MaxOpening = h1.MaxHead + message.MaxRecord
)

// ReadRecord appends the next record of an exchange to dst, which is empty. A record beyond its
// bound is malformed before all of it has arrived, since an exchange's permit counts no more than
// that.
func ReadRecord(st *wire.Stream, dst []byte) ([]byte, error) {
	b, err := st.ReadMsgUpTo(dst, maxMessage)
	if errors.Is(err, wire.ErrTooLarge) || err == nil && len(b) > 1+message.MaxRecord && b[0] == message.RecordBody {
		err = message.Malformed("a record that is too long")
	}
	return b, err
}

// Frames are buffers for small exchanges and records.
var Frames = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// LongAgo is a deadline that wakes a blocked call at once.
var LongAgo = time.Unix(1, 0)

// H2Frame is the longest frame of HTTP/2 that is accepted, from visitors and targets. Its buffer is
// allocated before it arrives.
const H2Frame = 16 << 10

// TunnelAddr is the address of a tunnel at its server.
type TunnelAddr string

func (TunnelAddr) Network() string { return "tunnel" }

func (a TunnelAddr) String() string { return string(a) }

// Record is a buffer for one record of a body, with its first byte.
type Record [1 + message.MaxRecord]byte

var Records = sync.Pool{New: func() any { return new(Record) }}

// QuietReader reads from a socket and holds a buffer only once something has come: most
// connections are silent most of the time. It serves one goroutine.
type QuietReader struct {
	// pass, if not nil, deals with b[1:] at once, and does not keep it. ok is false if that
	// would mean to wait: next returns it then. It runs while the socket is being read, and so
	// must not close it.
	pass  func(b []byte) (ok bool)
	tells bool // the kernel reports whether more has come

	Raw  syscall.RawConn
	in   nowait.Receiver
	read func(fd uintptr) bool // receive, made once

	buf *Record // read by receive
	n   int
	err error
}

// NewQuietReader is nil for a connection that has to be read in another way.
func NewQuietReader(conn net.Conn) *QuietReader {
	raw := nowait.Raw(conn)
	if raw == nil {
		return nil
	}
	q := &QuietReader{Raw: raw}
	q.read = q.receive
	return q
}

// Next waits for bytes and returns them as buf[1:1+n]. The caller puts buf back; with an error it
// is nil.
func (q *QuietReader) Next() (buf *Record, n int, err error) {
	if err := q.Raw.Read(q.read); err != nil { // closed, or the deadline
		return nil, 0, err
	}
	buf, n, err = q.buf, q.n, q.err
	q.buf, q.err = nil, nil
	return buf, n, err
}

// receive reads available bytes without waiting; it is called when the socket is ready. After a
// read it tries again, until nothing is left: returning to RawConn.Read would lose the readiness
// that the kernel has reported meanwhile, and cost a futile read.
func (q *QuietReader) receive(fd uintptr) (done bool) {
	buf := Records.Get().(*Record)
	for {
		n, more, wait, err := q.in.Receive(fd, buf[1:], q.tells)
		if wait || err != nil {
			Records.Put(buf)
			q.err = err
			return !wait
		}
		if q.pass == nil || !q.pass(buf[:1+n]) {
			q.buf, q.n = buf, n
			return true
		}
		if !more {
			Records.Put(buf)
			return false
		}
	}
}

// smallBuffer is how much an idle connection is read with that has to have a buffer.
const smallBuffer = 2 << 10

// thriftyReader reads from a connection that takes a buffer to wait: a small one as long as
// little comes. It serves one goroutine.
type thriftyReader struct {
	conn   net.Conn
	little []byte
	much   bool // the last read has filled its buffer
}

// Next waits for bytes and returns them as b[1:1+n]; the caller puts b back.
func (t *thriftyReader) Next() (b *Record, n int, err error) {
	if !t.much {
		if t.little == nil {
			t.little = make([]byte, smallBuffer)
		}
		n, err = t.conn.Read(t.little)
		t.much = n == len(t.little)
		if n == 0 {
			return nil, 0, err
		}
		b = Records.Get().(*Record)
		copy(b[1:], t.little[:n])
		return b, n, nil
	}
	b = Records.Get().(*Record)
	n, err = t.conn.Read(b[1:])
	t.much = n > smallBuffer
	if n == 0 {
		Records.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}
