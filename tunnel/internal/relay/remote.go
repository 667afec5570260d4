package relay

import (
	"errors"
	"io"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// RemoteStream is the stream of a raw or upgraded connection: a wire.Stream, or one whose bytes
// travel in records.
type RemoteStream interface {
	io.WriterTo
	// Send sends b[1:]; the first byte is room for a header.
	Send(b []byte) error
	// TrySend is Send that does not wait: false if nothing was sent.
	TrySend(b []byte) bool
	CloseWrite() error
	Reset(code wire.Code) error
	SetReadDeadline(t time.Time) error
	WhenCut(f func())
}

// RawStream is the stream of a raw connection: its bytes travel without records.
type RawStream struct{ *wire.Stream }

func (r *RawStream) Send(b []byte) error {
	_, err := r.Write(b[1:])
	return err
}

func (r *RawStream) TrySend(b []byte) bool { return r.TryWrite(b[1:]) }

// RecordStream is a stream behind a 101: bytes travel in records of the body.
type RecordStream struct{ *wire.Stream }

func (r *RecordStream) Send(b []byte) error {
	b[0] = message.RecordBody
	return r.WriteMsg(b)
}

func (r *RecordStream) TrySend(b []byte) bool {
	b[0] = message.RecordBody
	return r.TryWrite(b)
}

// WriteTo writes the bytes of all records to w.
func (r *RecordStream) WriteTo(w io.Writer) (total int64, err error) {
	b := Frames.Get().(*[]byte)
	defer Frames.Put(b)
	for {
		*b, err = ReadRecord(r.Stream, (*b)[:0])
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		case len(*b) == 0 || (*b)[0] != message.RecordBody:
			return total, message.Malformed("a record behind 101")
		}
		n, err := w.Write((*b)[1:])
		if total += int64(n); err != nil {
			return total, err
		}
	}
}
