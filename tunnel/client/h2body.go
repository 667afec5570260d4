package client

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"sync"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// h2Body is the body of a request to a target of HTTP/2: the bytes that came with the opening, then
// the records of the stream. net/http reads it on a goroutine of its own, and may still do so after
// the answer.
type h2Body struct {
	length int64        // from the head, -1: unknown
	first  []byte       // came with the opening
	st     *wire.Stream // nil: that is all

	mu      sync.Mutex  // held during Read
	piece   []byte      // guarded by mu: unread
	msg     []byte      // guarded by mu: memory of piece
	got     int64       // guarded by mu
	begun   bool        // guarded by mu: first alone would not do any more
	trailer http.Header // guarded by mu: the announced ones
	late    bool        // guarded by mu: they have come
	over    bool        // guarded by mu: Read fails
}

// h2Body returns the body of the exchange's request, of which rest bytes came with the opening and
// the others come by st; nil if there is none.
func (v *visit) h2Body(st *wire.Stream, rest int64) *h2Body {
	if v.req.Length <= 0 && !v.req.Chunked {
		return nil
	}
	first := v.whole[int64(len(v.whole))-rest:]
	return &h2Body{length: v.req.Length, first: first, st: st, piece: first, got: rest}
}

// Read implements io.Reader.
func (b *h2Body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.piece) == 0 || b.over {
		if b.over {
			return 0, errUnread
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.piece)
	b.piece = b.piece[n:]
	return n, nil
}

// next takes the next record. b.mu is held.
func (b *h2Body) next() (err error) {
	if b.st == nil || b.length >= 0 && b.got == b.length && !b.begun {
		return b.whole()
	}
	b.begun = true
	b.msg, err = relay.ReadRecord(b.st, b.msg[:0])
	switch {
	case errors.Is(err, io.EOF):
		return b.whole()
	case err != nil:
		return err
	case len(b.msg) == 0 || b.late:
		return message.Malformed("an empty record, or one behind the trailers")
	case b.msg[0] == message.RecordTrailers:
		b.late = true
		return b.trailers(b.msg[1:])
	case b.msg[0] != message.RecordBody:
		return message.Malformed("record %d of a visitor", b.msg[0])
	}
	b.piece = b.msg[1:]
	if b.got += int64(len(b.piece)); b.length >= 0 && b.got > b.length {
		return message.Malformed("more body than the head says")
	}
	return nil
}

// whole is the end, unless there should be more.
func (b *h2Body) whole() error {
	if b.length >= 0 && b.got != b.length {
		return message.Malformed("%d bytes, the head says %d", b.got, b.length)
	}
	return io.EOF
}

// trailers keeps the announced ones: net/http sends no others. b.mu is held.
func (b *h2Body) trailers(text []byte) error {
	var t h1.Head
	if err := t.Parse(text, h1.LinkTrailers); err != nil {
		return err
	}
	for i := range t.Fields {
		name := textproto.CanonicalMIMEHeaderKey(string(t.Fields[i].Name))
		if values, announced := b.trailer[name]; announced {
			b.trailer[name] = append(values, string(t.Fields[i].Value))
		}
	}
	return nil
}

// Close implements io.Closer. The target wants no more: a Read that waits for the visitor returns.
func (b *h2Body) Close() error {
	if b.st != nil {
		_ = b.st.SetReadDeadline(relay.LongAgo)
	}
	return nil
}

// rewind restarts the body at its beginning, and reports whether that is possible. No Read is in
// progress.
func (b *h2Body) rewind() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun {
		return false
	}
	b.piece = b.first
	if b.st != nil {
		_ = b.st.SetReadDeadline(time.Time{})
	}
	return true
}

// finish waits for the last Read, and returns borrowed memory.
func (b *h2Body) finish() {
	if b == nil {
		return
	}
	_ = b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}
