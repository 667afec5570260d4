package wiredump

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"paddock/internal/wire/frame"
)

const (
	// wholeFrame is the largest payload of a frame that is decoded. Of a longer frame only the
	// header is shown, which bounds the memory of a direction.
	wholeFrame = 1 << 20

	// keptBuffer is the largest buffer that a reader keeps between two frames.
	keptBuffer = 64 << 10
)

// reader decodes the bytes of one direction, in pieces, and emits a line for each frame. It emits
// nothing after a broken frame.
type reader struct {
	options Options
	names   *names
	from    frame.Role // the sender
	live    bool       // the preface is required, as by a peer
	emit    func(*Line)

	buf    []byte // received bytes that are not shown yet
	offset int64  // of buf[0] in the direction
	skip   int    // missing bytes of a long frame
	opened bool   // past the preface
	err    error  // the reason to stop
}

// feed reads the next bytes, which it copies.
func (d *reader) feed(p []byte) {
	if d.err != nil {
		return
	}
	d.buf = append(d.buf, p...)
	at := 0
	for d.err == nil {
		n := d.next(d.buf[at:])
		if n == 0 {
			break
		}
		at += n
		d.offset += int64(n)
	}
	if at > 0 {
		d.buf = append(d.buf[:0], d.buf[at:]...)
	}
	if d.err != nil || len(d.buf) == 0 && cap(d.buf) > keptBuffer {
		d.buf = nil
	}
}

// end reports the end of the bytes.
func (d *reader) end() {
	if d.err != nil || len(d.buf) == 0 && d.skip == 0 {
		return
	}
	if d.live && !d.opened {
		d.judgePreface(d.buf)
	}
	if d.err != nil {
		return
	}
	d.err = fmt.Errorf("%d of the 8 bytes of a header: %w", len(d.buf), io.ErrUnexpectedEOF)
	switch {
	case d.skip > 0:
		d.err = fmt.Errorf("%d bytes of a payload are missing: %w", d.skip, io.ErrUnexpectedEOF)
	case len(d.buf) >= frame.HeaderSize:
		h := frame.ParseHeader(d.buf)
		d.err = fmt.Errorf("%v, but only %d bytes of it: %w", h, len(d.buf)-frame.HeaderSize, io.ErrUnexpectedEOF)
	}
	d.emit(&Line{Offset: d.offset, Event: "incomplete", Reason: d.err.Error()})
}

// next shows the frame at the beginning of b and returns its length, or 0 if it is incomplete.
func (d *reader) next(b []byte) int {
	switch {
	case d.skip > 0:
		n := min(d.skip, len(b))
		d.skip -= n
		return n
	case !d.opened:
		return d.preface(b)
	case len(b) < frame.HeaderSize:
		return 0
	}
	h := frame.ParseHeader(b)
	if err := h.Check(cmp.Or(d.options.MaxFrame, d.names.maxFrame(1-d.from))); err != nil {
		return d.broken(h, err)
	}
	if h.Len() > wholeFrame {
		d.long(h)
		return frame.HeaderSize
	}
	var f frame.Frame
	n, err := frame.Next(b, frame.MaxPayload, &f)
	if err == nil && n > 0 && f.Type == frame.HELLO {
		err = d.names.hello(d.from, f.Body)
	}
	switch {
	case err != nil:
		return d.broken(h, err)
	case n > 0:
		d.emit(d.line(h, &f))
	}
	return n
}

// long shows a header, and skips the payload.
func (d *reader) long(h frame.Header) {
	l := d.head(h)
	l.Event = "long"
	if h.Type() != frame.REQ && h.Type() != frame.OPEN { // their payload has the kind
		l.KindNumber, l.Kind, _ = d.names.learn(d.from, &frame.Frame{Type: h.Type(), ID: h.ID()})
	}
	d.emit(l)
	d.skip = h.Len()
}

// preface reads the preface. A capture may begin without a preface, but not with a broken one.
func (d *reader) preface(b []byte) int {
	const telling = 5 // 0x89 and the name: as a frame it would be DATA of 4 MiB
	if len(b) < len(frame.Preface) {
		return 0
	}
	if !d.live && string(b[:telling]) != frame.Preface[:telling] {
		d.opened = true
		return d.next(b)
	}
	return d.judgePreface(b)
}

func (d *reader) judgePreface(b []byte) int {
	n, err := frame.CheckPreface(b)
	if err != nil {
		d.err = err
		d.emit(&Line{Offset: d.offset, Event: "broken", Reason: err.Error()})
		return 0
	}
	if n > 0 {
		d.opened = true
		d.emit(&Line{Offset: d.offset, Event: "preface"})
	}
	return n
}

func (d *reader) broken(h frame.Header, err error) int {
	d.err = err
	l := d.head(h)
	l.Event, l.Reason = "broken", err.Error()
	if e, ok := errors.AsType[*frame.ProtocolError](err); ok {
		l.Code, l.CodeNumber, l.Reason = e.Code.String(), uint16(e.Code), string(e.Reason)
	}
	d.emit(l)
	return 0
}
