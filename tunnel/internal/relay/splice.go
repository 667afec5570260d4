// Package relay copies bytes between a visitor's or a target's socket and a wire stream, or between
// two sockets, in both directions: half-closes, resets, idle timeouts and slow readers included.
package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/nowait"
	"paddock/tunnel"
	"paddock/wire"
)

// ErrCut is wrapped when a connection ended by a reset, of either side.
var ErrCut = errors.New("tunnel: connection cut")

// Splice copies bytes both ways between a socket and a stream, until both directions have ended.
// first holds the bytes that were read from the socket before.
//
// A direction that ends does not affect the other one, which may then be silent for linger. A reset
// of one side, or silence, resets the other: truncated data must not look complete. The socket is
// not closed, but after a reset its close will reset it.
//
// Each direction has a goroutine, which is mostly idle: bytes that fit the socket, or the stream,
// are written by the goroutine that has read them.
func Splice(conn net.Conn, first []byte, st RemoteStream, linger time.Duration) error {
	return SpliceCounted(conn, first, st, linger, new(Transfer))
}

// SpliceCounted is splice that counts the bytes.
func SpliceCounted(conn net.Conn, first []byte, st RemoteStream, linger time.Duration, over *Transfer) error {
	s := splicing{conn: conn, st: st, linger: linger, over: over}
	st.WhenCut(func() { s.cut(tunnel.CutByTarget) }) // a blocked write to the socket would not notice it
	defer st.WhenCut(nil)
	up := make(chan error, 1)
	go func() { up <- s.up(first) }()
	down := s.down()
	if down != nil {
		s.cut(tunnel.CutByVisitor) // the socket must not end cleanly, unless it is cut already
	}
	return errors.Join(down, <-up)
}

// splicing is a pair of directions.
type splicing struct {
	conn   net.Conn
	st     RemoteStream
	linger time.Duration
	half   atomic.Bool // one direction has ended
	once   sync.Once
	over   *Transfer
}

// up carries from the socket to the stream.
func (s *splicing) up(first []byte) error {
	if err := s.sendFirst(first); err != nil {
		return s.torn(streamEnd(err), err)
	}
	in, watch := s.source(), watchResets(s.conn, func() { s.cut(tunnel.CutByVisitor) })
	defer watch.end()
	for {
		b, n, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			s.ended()
			return s.st.CloseWrite()
		case err != nil:
			return s.torn(visitorEnd(err), err)
		}
		s.moved()
		watch.begin()
		err = s.st.Send(b[:1+n])
		watch.end()
		Records.Put(b)
		if err != nil {
			return s.torn(streamEnd(err), err)
		}
		s.over.Received.Add(int64(n))
	}
}

// torn cuts both sides, and returns the cause.
func (s *splicing) torn(end tunnel.End, why error) error {
	s.cut(end)
	return fmt.Errorf("%w: %w", ErrCut, why)
}

// sendFirst sends the bytes that were read before.
func (s *splicing) sendFirst(first []byte) error {
	b := Records.Get().(*Record)
	defer Records.Put(b)
	for len(first) > 0 {
		n := copy(b[1:], first)
		if err := s.st.Send(b[:1+n]); err != nil {
			return err
		}
		s.over.Received.Add(int64(n))
		first = first[n:]
	}
	return nil
}

// source returns the reader of the socket. It writes to the stream directly as long as that does
// not wait.
func (s *splicing) source() interface {
	Next() (b *Record, n int, err error)
} {
	q := NewQuietReader(SocketOf(s.conn))
	if q == nil {
		return &thriftyReader{conn: s.conn}
	}
	q.tells = nowait.Tells(q.Raw)
	q.pass = func(b []byte) bool {
		s.moved()
		if !s.st.TrySend(b) {
			return false
		}
		s.over.Received.Add(int64(len(b) - 1))
		return true
	}
	return q
}

// down carries from the stream to the socket.
func (s *splicing) down() error {
	w := &socketWriter{s: s, now: nowait.NewWriter(SocketOf(s.conn))}
	n, err := s.st.WriteTo(w)
	s.over.Sent.Add(n)
	if err != nil && w.failed {
		return s.torn(visitorEnd(err), err)
	} else if err != nil {
		return s.torn(streamEnd(err), err)
	}
	s.ended()
	return CloseWrite(s.conn)
}

// ended begins to bound the silence of the other direction.
func (s *splicing) ended() {
	s.half.Store(true)
	s.moved()
}

// moved restarts the silence timer.
func (s *splicing) moved() {
	if s.half.Load() {
		until := time.Now().Add(s.linger)
		_ = s.conn.SetReadDeadline(until)
		_ = s.st.SetReadDeadline(until)
	}
}

// cut resets both sides.
func (s *splicing) cut(end tunnel.End) {
	s.once.Do(func() {
		s.over.Cut(end)
		_ = s.st.Reset(wire.Cancelled)
		ResetConn(s.conn)
	})
}

// socketWriter writes to the socket of a splicing, and restarts the silence timer. It implements
// wire.TryWriter: the link's reader writes as much as the socket takes at once.
type socketWriter struct {
	s      *splicing
	now    *nowait.Writer // nil: no write is known not to wait
	failed bool           // it was the socket's fault that bytes have come no further
}

// TryWrite implements wire.TryWriter.
func (w *socketWriter) TryWrite(p []byte) (n int) {
	if w.now == nil {
		return 0
	}
	w.s.moved()
	n, _ = w.now.TryWrite(p) // the next write returns the error
	return n
}

// Write implements io.Writer.
func (w *socketWriter) Write(p []byte) (n int, err error) {
	if n = w.TryWrite(p); n == len(p) {
		return n, nil
	}
	w.s.moved()
	m, err := w.s.conn.Write(p[n:])
	w.failed = err != nil
	return n + m, err
}
