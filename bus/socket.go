package bus

import (
	"net"
	"runtime"
	"sync"
	"syscall"

	"paddock/internal/netio/nowait"
)

const (
	// blockSize bounds one read: one batch.
	blockSize = 64 << 10
	// plainSize is the buffer of a connection that cannot read without one.
	plainSize = 16 << 10
	// batchesPerTurn is the number of batches of one connection that are routed before other
	// goroutines get the processor.
	batchesPerTurn = 4
)

// blocks are the buffers into which batches are read.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// socket is the connection beneath, with the two things that net.Conn has not: a
// write that never waits, and a read that holds no memory while it waits. Where
// the system gives no access (in-memory), the plain methods do.
//
// It is used by one reader and one writer at a time; each has fields of its own.
type socket struct {
	nc  net.Conn
	raw syscall.RawConn // nil: plain

	// The writer's.
	tryOnce  func(fd uintptr) bool
	waits    bool // tryOnce waits until the kernel takes bytes
	out      []byte
	written  int
	writeErr error

	// The reader's.
	handle   func(batch []byte) bool
	readErr  error
	tells    bool // the kernel reports whether more bytes are there
	receiver nowait.Receiver
}

func (s *socket) init(nc net.Conn) {
	s.nc = nc
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
	default:
		return
	}
	raw := nowait.Raw(nc)
	if raw == nil {
		return
	}
	s.raw, s.tryOnce, s.tells = raw, s.trySyscall, nowait.Tells(raw)
}

// canTry reports whether tryWrite works.
func (s *socket) canTry() bool { return s.raw != nil }

// tryWrite writes the bytes that the kernel takes at once.
func (s *socket) tryWrite(b []byte) (n int, err error) {
	s.out, s.written, s.writeErr = b, 0, nil
	if err := s.raw.Write(s.tryOnce); err != nil {
		return 0, err
	}
	s.out = nil
	return s.written, s.writeErr
}

// write writes some bytes of b, which is not empty, and waits if the socket takes none.
func (s *socket) write(b []byte) (n int, err error) {
	if s.raw == nil {
		return s.nc.Write(b[:min(len(b), writePiece)])
	}
	s.waits = true
	n, err = s.tryWrite(b)
	s.waits = false
	return n, err
}

// trySyscall returns true for done unless RawConn.Write is to wait.
func (s *socket) trySyscall(fd uintptr) bool {
	s.written, s.writeErr = nowait.Send(fd, s.out)
	return !s.waits || s.written > 0 || s.writeErr != nil
}

// readAll calls handle with each batch that comes, until it returns false or a
// read fails. The batch is handle's until it returns.
func (s *socket) readAll(handle func(batch []byte) bool) error {
	s.handle = handle
	if s.raw == nil {
		return s.readPlain()
	}
	if err := s.raw.Read(s.readReady); err != nil {
		return err
	}
	return s.readErr
}

func (s *socket) readPlain() error {
	buf := make([]byte, plainSize)
	for {
		n, err := s.nc.Read(buf)
		if n > 0 && !s.handle(buf[:n]) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readReady reads until nothing is left, and returns false to wait for more. All bytes are handled
// inside it: leaving RawConn.Read and entering it again forgets the kernel's announcements
// meanwhile, so that one read in vain would be needed before each wait. Memory is taken only while
// there is something to read.
//
// Closing the connection waits for this function to return, so handle must not close it.
func (s *socket) readReady(fd uintptr) (done bool) {
	block := blocks.Get().(*[blockSize]byte)
	defer blocks.Put(block)
	for round := 1; ; round++ {
		n, more, wait, err := s.receiver.Receive(fd, block[:], s.tells)
		switch {
		case wait:
			return false
		case err != nil:
			s.readErr = err
			return true
		case !s.handle(block[:n]):
			return true
		case !more:
			return false
		case round%batchesPerTurn == 0:
			runtime.Gosched()
		}
	}
}
