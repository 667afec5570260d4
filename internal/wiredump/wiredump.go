// Package wiredump shows the frames of a wire connection as text or JSON, one frame on each line,
// to debug a conversation between two peers.
//
// A Capture is the bytes of one direction. A Relay stands between two live peers and shows both
// directions. Each direction has its own reader, which checks frames with the codec of package
// wire. The two readers share the names: the kinds that each side has bound, and the kind for which
// each slot was opened.
//
// The data comes from unknown peers. Only printable characters reach the output, the memory is
// bounded, and credentials in HELLO are hidden.
package wiredump

import (
	"errors"
	"fmt"
	"io"

	"paddock/internal/wire/frame"
)

// Options configure the output.
type Options struct {
	Body     int    // bytes of body shown of each frame; 0: none
	MaxFrame uint32 // of the receiver's HELLO; 0: the value that was seen, else no limit
	JSON     bool   // one object on each line, instead of text
}

// ErrBroken is wrapped by the error about bytes that are not frames of wire.
var ErrBroken = errors.New("the frames end")

// Capture shows the bytes of one side, with or without the preface. It ends at a frame that the
// codec refuses: that line has the reason, and the error wraps ErrBroken and, if there is one, a
// *wire.ProtocolError.
func Capture(w io.Writer, r io.Reader, o Options) error {
	var failed error
	var line []byte
	d := reader{options: o, names: new(names), emit: func(l *Line) {
		if failed == nil {
			line = l.Append(line[:0], o.JSON)
			_, failed = w.Write(line)
		}
	}}
	chunk := make([]byte, 64<<10)
	for failed == nil && d.err == nil {
		n, err := r.Read(chunk)
		d.feed(chunk[:n])
		if err == io.EOF {
			d.end()
			break
		}
		if err != nil {
			return errors.Join(failed, err)
		}
	}
	if failed == nil && d.err != nil {
		return fmt.Errorf("%w at offset %d: %w", ErrBroken, d.offset, d.err)
	}
	return failed
}

// Check returns an error if o is invalid.
func (o Options) Check() error {
	if o.Body < 0 {
		return fmt.Errorf("a negative number of bytes of body: %d", o.Body)
	}
	if o.MaxFrame > frame.MaxPayload {
		return fmt.Errorf("no frame has more than %d bytes of payload", frame.MaxPayload)
	}
	return nil
}
