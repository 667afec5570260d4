package tunnel

import (
	"syscall"

	"paddock/internal/nowait"
)

// socketWriter writes to the socket of a splicing, and lets the silence begin anew. It
// implements wire.TryWriter: the link's reader writes what the socket takes at once.
type socketWriter struct {
	s    *splicing
	raw  syscall.RawConn // nil: no write is known not to wait
	once func(fd uintptr) bool

	b []byte // what once writes
	n int
}

func newSocketWriter(s *splicing) *socketWriter {
	w := &socketWriter{s: s, raw: nowait.Raw(s.conn)}
	w.once = func(fd uintptr) bool {
		w.n, _ = nowait.Send(fd, w.b) // the next one fails too, and says why
		return true
	}
	return w
}

// TryWrite implements wire.TryWriter.
func (w *socketWriter) TryWrite(p []byte) (n int) {
	if w.raw == nil {
		return 0
	}
	w.s.moved()
	w.b, w.n = p, 0
	_ = w.raw.Write(w.once)
	w.b = nil
	return w.n
}

// Write implements io.Writer. Only what must wait does so in the scheduler's sight.
func (w *socketWriter) Write(p []byte) (n int, err error) {
	if n = w.TryWrite(p); n == len(p) {
		return n, nil
	}
	w.s.moved()
	m, err := w.s.conn.Write(p[n:])
	return n + m, err
}
