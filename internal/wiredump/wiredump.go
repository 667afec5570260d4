// Package wiredump shows the frames of a wire connection as text or JSON, one on
// each line, for people who want to see what two peers say to each other.
//
// A Capture is the bytes of one direction; a Relay stands between two live peers
// and shows both. Each direction has a reader of its own, which judges frames by
// the codec of package wire. The two share what one must know to name things: who
// has bound which kind, and what each slot was opened for.
//
// What is shown is data of a stranger. Nothing of it reaches the output but
// printable characters, what is kept of it is bounded, and credentials in HELLO
// are hidden.
package wiredump

import (
	"errors"
	"fmt"
	"io"

	"paddock/wire"
)

// Options say what is shown.
type Options struct {
	Body     int    // bytes of body shown of each frame; 0: none
	MaxFrame uint32 // of the receiver's HELLO; 0: what was seen of it, else no limit
	JSON     bool   // one object on each line, instead of text
}

// ErrBroken is wrapped by the error about bytes that are not the frames of wire.
var ErrBroken = errors.New("the frames end")

// Capture shows what one side has sent, with or without its preface. A frame that
// the codec refuses ends it: that line says why, and so does the error, which
// wraps ErrBroken and, if there is one, a *wire.ProtocolError.
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

// Check returns what is wrong with o, or nil.
func (o Options) Check() error {
	if o.Body < 0 {
		return fmt.Errorf("a negative number of bytes of body: %d", o.Body)
	}
	if o.MaxFrame > wire.MaxPayload {
		return fmt.Errorf("no frame has more than %d bytes of payload", wire.MaxPayload)
	}
	return nil
}
