package tunnel

import "paddock/internal/nowait"

// socketWriter writes to the socket of a splicing, and lets the silence begin anew. It
// implements wire.TryWriter: the link's reader writes what the socket takes at once.
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
	n, _ = w.now.TryWrite(p) // the next one fails too, and says why
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
