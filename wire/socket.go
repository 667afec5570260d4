package wire

import (
	"net"
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

const (
	// notSentLowWater bounds the bytes that wait in the kernel in front of a small frame. Without
	// it that is up to 4 MiB, far more than the processor's cache.
	notSentLowWater = 64 << 10
	// shortPath is the round trip below which shortBuffer is enough: 0.8 GB/s at
	// least.
	shortPath = 250 * time.Microsecond
	// shortBuffer is the kernel's receive buffer on a short path. Left alone it grows to several
	// MiB, all of which is a queue in front of small frames, and slower for bulk too. With TLS it
	// is secureBuffer, which fills while records are decrypted.
	shortBuffer  = 208 << 10
	secureBuffer = 640 << 10
)

// socket is the connection beneath, with the two things that net.Conn has not: a
// write that never waits, and a read that holds no memory while it waits. Where
// the system gives no access (in-memory), the plain methods do. Over TLS it works
// on the connection beneath, with a cork in between.
//
// It is used by one reader and one writer at a time; each has fields of its own.
type socket struct {
	nc  net.Conn
	tls *secured        // nil: none that we know how to cork
	raw syscall.RawConn // nil: plain
	tcp *net.TCPConn    // nil: no gathering write

	// The writer's.
	writer *nowait.Writer // nil: plain
	gather net.Buffers    // the part of vector that was not written
	vector net.Buffers

	// The reader's.
	in       *reader
	handle   func() error
	readErr  error
	tells    bool // the kernel reports whether more has come
	fitted   bool // the receive buffer has been set for the path
	receiver nowait.Receiver
}

func (s *socket) init(nc net.Conn, idle time.Duration) {
	s.nc = nc
	if s.tls, _ = nc.(*secured); s.tls != nil {
		s.nc = s.tls.cork.Conn
	}
	s.open(idle)
	if s.tls != nil {
		s.tls.cork.attach(s.writer, s.tells)
		s.tcp = nil
	}
}

// open finds the abilities of the connection beneath.
func (s *socket) open(idle time.Duration) {
	if s.raw = nowait.Raw(s.nc); s.raw == nil {
		return
	}
	s.writer = nowait.NewWriter(s.nc)
	if s.tcp, _ = s.nc.(*net.TCPConn); s.tcp != nil {
		s.tells = tune(s.raw, idle)
	}
}

// fit sets the kernel's receive buffer once the path is known to be short.
func (s *socket) fit(rtt time.Duration) {
	if direct, ok := s.nc.(*net.TCPConn); ok && !s.fitted && rtt < shortPath {
		s.fitted = true
		size := shortBuffer
		if s.tls != nil {
			size = secureBuffer
		}
		_ = direct.SetReadBuffer(size) // a system that refuses has its own way
	}
}

// canTry reports whether tryWrite works.
func (s *socket) canTry() bool { return s.raw != nil }

// tryWrite writes as much as the kernel takes at once. Bytes that were taken of b and still wait
// are held: a writer must end them with writeAll.
func (s *socket) tryWrite(b []byte) (n int, err error) {
	if s.tls != nil {
		return s.tls.tryWrite(b)
	}
	return s.writer.TryWrite(b)
}

// held reports whether tryWrite has taken bytes that it could not write.
func (s *socket) held() bool { return s.tls != nil && s.tls.cork.held() }

// readAll reads into r, and calls handle whenever something has come, until one of
// them fails.
func (s *socket) readAll(r *reader, handle func() error) error {
	s.in, s.handle = r, handle
	if s.tls != nil { // bytes that were received with the handshake
		if err := s.tls.drain(r, handle); err != nil {
			return err
		}
	}
	switch {
	case s.raw != nil:
		if err := s.raw.Read(s.readReady); err != nil {
			return err
		}
		return s.readErr
	case s.tls != nil:
		return s.tls.fillAll(r, handle)
	}
	return s.readPlain(r, handle)
}

func (s *socket) readPlain(r *reader, handle func() error) error {
	for {
		n, err := s.nc.Read(r.room())
		if r.to += n; n > 0 {
			err = handle()
		}
		if err != nil {
			return err
		}
	}
}

// readReady reads until nothing is left, and returns false to wait for more. All of it is handled
// in here: leaving RawConn.Read and entering it again forgets the kernel's announcements, so that
// it takes a read in vain to know that one must wait. Memory is taken only while there is something
// to read.
func (s *socket) readReady(fd uintptr) (done bool) {
	s.in.gathers = true
	done = s.readWhatCame(fd)
	s.in.gathers = false
	s.in.wakeLate()
	return done
}

func (s *socket) readWhatCame(fd uintptr) (done bool) {
	if s.tls != nil {
		s.tls.cork.ready(fd)
		s.readErr = s.tls.drain(s.in, s.handle)
		return s.readErr != nil
	}
	for {
		n, more, wait, err := s.receiver.Receive(fd, s.in.room(), s.tells)
		if wait {
			s.in.giveBack()
			return false
		}
		if s.in.to += n; n > 0 {
			err = s.handle()
		}
		if err != nil {
			s.readErr = err
			return true
		}
		if !more {
			return false
		}
	}
}

// writeVector writes the pieces of vector, and empties it.
func (s *socket) writeVector() (n int, err error) {
	if s.tls != nil {
		n, err = s.tls.writeGather(s.vector)
	} else {
		s.gather = s.vector
		var written int64
		written, err = s.gather.WriteTo(s.tcp)
		n = int(written)
	}
	clear(s.vector[:cap(s.vector)])
	return n, err
}
