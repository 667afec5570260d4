package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/wire"
)

// far is the stream of a raw or upgraded connection: a wire.Stream, or one whose bytes
// travel in records.
type far interface {
	io.WriterTo
	// send sends b[1:]; the first byte is room for what is put before it.
	send(b []byte) error
	CloseWrite() error
	Reset(code wire.Code) error
	SetReadDeadline(t time.Time) error
}

// errCut is wrapped when a connection ended by a reset, of either side.
var errCut = errors.New("tunnel: connection cut")

// splice carries bytes both ways between a socket and a stream, until both directions
// have ended. in is where the socket is read: what was read of it before comes first.
//
// A direction that ends leaves the other one alone, which then may be silent for
// linger. A reset of one side, or silence, resets the other: what was cut must not
// look whole. The socket is not closed, but after a reset it is told to end so.
func splice(conn net.Conn, in io.Reader, st far, linger time.Duration) error {
	s := splicing{conn: conn, st: st, linger: linger}
	up := make(chan error, 1)
	go func() { up <- s.up(in) }()
	down := s.down()
	if down != nil {
		s.cut()
	}
	return errors.Join(down, <-up)
}

// splicing is a pair of directions.
type splicing struct {
	conn   net.Conn
	st     far
	linger time.Duration
	half   atomic.Bool // one direction has ended
	once   sync.Once
}

// up carries from the socket to the stream.
func (s *splicing) up(in io.Reader) error {
	b := records.Get().(*record)
	defer records.Put(b)
	for {
		n, err := in.Read(b[1:])
		if n > 0 {
			s.moved()
			if werr := s.st.send(b[:1+n]); werr != nil {
				s.cut()
				return fmt.Errorf("%w: %w", errCut, werr)
			}
		}
		if errors.Is(err, io.EOF) {
			s.ended()
			return s.st.CloseWrite()
		}
		if err != nil {
			s.cut()
			return fmt.Errorf("%w: %w", errCut, err)
		}
	}
}

// down carries from the stream to the socket.
func (s *splicing) down() error {
	if _, err := s.st.WriteTo(movedWriter{s}); err != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	s.ended()
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// movedWriter writes to the socket, and lets the silence begin anew.
type movedWriter struct{ s *splicing }

func (w movedWriter) Write(p []byte) (int, error) {
	w.s.moved()
	return w.s.conn.Write(p)
}

// ended begins to bound the silence of the other direction.
func (s *splicing) ended() {
	s.half.Store(true)
	s.moved()
}

// moved lets the silence begin anew.
func (s *splicing) moved() {
	if s.half.Load() {
		until := time.Now().Add(s.linger)
		_ = s.conn.SetReadDeadline(until)
		_ = s.st.SetReadDeadline(until)
	}
}

// cut resets both sides.
func (s *splicing) cut() {
	s.once.Do(func() {
		_ = s.st.Reset(wire.Cancelled)
		if l, ok := s.conn.(interface{ SetLinger(int) error }); ok {
			_ = l.SetLinger(0)
		}
		_ = s.conn.Close()
	})
}

// rawStream is the stream of a raw connection: its bytes are what travels.
type rawStream struct{ *wire.Stream }

func (r *rawStream) send(b []byte) error {
	_, err := r.Write(b[1:])
	return err
}

// recordStream is a stream behind a 101: bytes travel in records of the body.
type recordStream struct{ *wire.Stream }

func (r *recordStream) send(b []byte) error {
	b[0] = recordBody
	return r.WriteMsg(b)
}

// WriteTo writes the bytes of all records to w.
func (r *recordStream) WriteTo(w io.Writer) (total int64, err error) {
	b := frames.Get().(*[]byte)
	defer frames.Put(b)
	for {
		*b, err = r.ReadMsg((*b)[:0])
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		case len(*b) == 0 || (*b)[0] != recordBody:
			return total, malformed("a record behind 101")
		}
		n, err := w.Write((*b)[1:])
		if total += int64(n); err != nil {
			return total, err
		}
	}
}
