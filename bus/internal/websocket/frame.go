// Package websocket is the server's side of WebSocket (RFC 6455) with compressed messages (RFC
// 7692): the handshake, a reader of the frames that clients send, and the frames that the server
// sends. It does no I/O but in Upgrade, and knows nothing of the protocol that the messages carry.
package websocket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// The parts of a frame's header: RFC 6455 section 5.2.
const (
	flagFinal     = 0x80
	flagDeflated  = 0x40 // RSV1: RFC 7692
	flagsReserved = 0x30
	flagMasked    = 0x80
	maskOpcode    = 0x0f
	maskLength    = 0x7f
	length16      = 126
	length64      = 127

	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8
	opPing         = 0x9
	OpPong         = 0xa

	maxHeader  = 2 + 8 + 4
	maxControl = 125 // bytes of a control frame
)

// The codes of close frames that this broker sends: RFC 6455 section 7.4.1.
const (
	CloseNormal        = 1000
	CloseGoingAway     = 1001
	CloseProtocolError = 1002
	closeInvalid       = 1007
	ClosePolicy        = 1008
	CloseTooBig        = 1009
	CloseServerError   = 1011
)

// Error ends a connection with a close frame.
type Error struct {
	Code int
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("websocket: %d %s", e.Code, e.Text) }

func protocolError(text string) *Error { return &Error{CloseProtocolError, text} }

// errStop ends Feed: the sink wants no more, or the peer has sent a close frame.
var errStop = errors.New("websocket: stop")

// Sink takes the contents of frames. Slices are borrowed until the call returns.
type Sink interface {
	// Data takes payload, in order; false = no more is wanted.
	Data(b []byte) bool
	Ping(payload []byte)
	// Closed is the peer's close frame; code is 0 if it gives none.
	Closed(code int, text string)
	// Limit returns the bound in bytes on a deflated message, before and after inflation.
	Limit() int
}

// Reader reads the frames that a client sends. It is pure: no I/O, no clock. How the bytes were
// split changes neither the data nor the pings, only the place of a ping among the data. All frames
// and messages carry one stream of data, text or binary. So the length of a frame is a number that
// counts down, and costs no memory. Only deflated messages and control frames are kept until they
// are whole; both are bounded.
type Reader struct {
	Deflate bool // permessage-deflate has been agreed on

	head   [maxHeader]byte
	have   int // bytes of head
	rest   uint64
	key    [4]byte
	at     int // of the key
	opcode byte
	final  bool
	inside bool // a frame's payload comes next

	open    bool   // a message goes on: continuations are expected
	packed  bool   // it is deflated
	message []byte // received part of a deflated message
	control []byte // received part of a control frame
}

// Feed handles b, which it overwrites, to its end or to the first error. The error is errStop or
// wraps a *Error; after it the reader must not be used again. Feed calls Data once for all data in
// b, unless it inflates a message in between. So a read of the socket gives one batch.
func (r *Reader) Feed(b []byte, sink Sink) error {
	out := dataBuffer{b: b, sink: sink}
	for i := 0; i < len(b) || r.inside && r.rest == 0; {
		if !r.inside {
			n, err := r.header(b[i:])
			if i += n; err != nil {
				return errors.Join(out.flush(), err)
			}
			continue
		}
		part := b[i:]
		if r.rest < uint64(len(part)) {
			part = part[:r.rest]
		}
		i += len(part)
		r.rest -= uint64(len(part))
		r.inside = r.rest > 0
		r.unmask(part)
		if err := r.payload(part, &out); err != nil {
			return err
		}
	}
	return out.flush()
}

// dataBuffer holds the data among the bytes of a Feed. It moves the data to the front, over the
// headers.
type dataBuffer struct {
	b    []byte
	n    int // b[:n] is data
	sink Sink
}

func (d *dataBuffer) add(part []byte) { d.n += copy(d.b[d.n:], part) }

func (d *dataBuffer) flush() error {
	n := d.n
	if d.n = 0; n > 0 && !d.sink.Data(d.b[:n]) {
		return errStop
	}
	return nil
}

// payload handles the next part of a frame, which is its last unless r.inside.
func (r *Reader) payload(part []byte, out *dataBuffer) error {
	whole := !r.inside
	switch {
	case r.opcode >= opClose:
		r.control = append(r.control, part...)
		if !whole {
			return nil
		}
		if r.opcode == opClose {
			if err := out.flush(); err != nil {
				return err
			}
		}
		return r.handleControl(out.sink)
	case r.packed:
		if len(r.message)+len(part) > out.sink.Limit() {
			return errors.Join(out.flush(), errTooBig)
		}
		r.message = append(r.message, part...)
		if !whole || !r.final {
			return nil
		}
		if err := out.flush(); err != nil {
			return err
		}
		return r.unpack(out.sink)
	default:
		out.add(part)
		return nil
	}
}

// header collects a frame's header from b, and checks it as soon as it can.
func (r *Reader) header(b []byte) (n int, err error) {
	for n < len(b) {
		r.head[r.have] = b[n]
		r.have++
		n++
		if r.have == 2 {
			if err := r.check(r.head[0], r.head[1]); err != nil {
				return n, err
			}
		}
		if r.have >= 2 && r.have == headerSize(r.head[1]) {
			return n, r.begin()
		}
	}
	return n, nil
}

func headerSize(second byte) int {
	switch second & maskLength {
	case length16:
		return 2 + 2 + 4
	case length64:
		return 2 + 8 + 4
	default:
		return 2 + 4
	}
}

// check judges the first two bytes of a frame.
func (r *Reader) check(first, second byte) error {
	opcode, final := first&maskOpcode, first&flagFinal != 0
	deflated := first&flagDeflated != 0
	switch {
	case first&flagsReserved != 0:
		return protocolError("RSV2 and RSV3 must be clear")
	case deflated && (!r.Deflate || opcode != opText && opcode != opBinary):
		return protocolError("RSV1 must be clear")
	case second&flagMasked == 0:
		return protocolError("mask bit missing")
	case opcode >= opClose && (!final || second&maskLength > maxControl):
		return protocolError("a control frame is short and in one piece")
	case opcode == opContinuation && !r.open:
		return protocolError("nothing to continue")
	case (opcode == opText || opcode == opBinary) && r.open:
		return protocolError("the message before has not ended")
	case opcode > opBinary && opcode < opClose || opcode > OpPong:
		return protocolError("unknown opcode")
	}
	r.opcode = opcode
	if opcode >= opClose {
		return nil
	}
	r.open, r.final = !final, final
	if opcode != opContinuation {
		r.packed = deflated
	}
	return nil
}

// begin reads the length and the key of a whole header.
func (r *Reader) begin() error {
	head := r.head[2:r.have]
	switch r.rest = uint64(r.head[1] & maskLength); r.rest {
	case length16:
		r.rest = uint64(binary.BigEndian.Uint16(head))
	case length64:
		if r.rest = binary.BigEndian.Uint64(head); r.rest > math.MaxInt64 {
			return protocolError("invalid 64-bit payload length")
		}
	}
	copy(r.key[:], head[len(head)-4:])
	r.have, r.at, r.inside = 0, 0, true
	return nil
}

func (r *Reader) unmask(b []byte) {
	if len(b) >= 16 {
		var key [8]byte
		for i := range key {
			key[i] = r.key[(r.at+i)&3]
		}
		k := binary.LittleEndian.Uint64(key[:])
		for len(b) >= 8 { // a multiple of the key's length: at stays
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^k)
			b = b[8:]
		}
	}
	for i := range b {
		b[i] ^= r.key[(r.at+i)&3]
	}
	r.at = (r.at + len(b)) & 3
}

// handleControl handles a whole control frame. A close frame ends the input.
func (r *Reader) handleControl(sink Sink) error {
	payload := r.control
	r.control = r.control[:0]
	switch r.opcode {
	case opPing:
		sink.Ping(payload)
		return nil
	case OpPong:
		return nil
	}
	code, text := 0, ""
	if len(payload) == 1 {
		return protocolError("close frame payload cannot be 1 byte")
	}
	if len(payload) >= 2 {
		code, text = int(binary.BigEndian.Uint16(payload)), string(payload[2:])
		if !validCode(code) {
			return protocolError(fmt.Sprintf("invalid close status code %d", code))
		}
		if !utf8.ValidString(text) {
			return &Error{closeInvalid, "invalid utf8 body in close frame"}
		}
	}
	sink.Closed(code, text)
	return errStop
}

// validCode reports whether a close frame may have the code: RFC 6455 section 7.4, and later
// registrations.
func validCode(code int) bool {
	switch {
	case code == 1004, code == 1005, code == 1006, code == 1015:
		return false
	default:
		return code >= 1000 && code < 1016 || code >= 3000 && code < 5000
	}
}

// AppendFrame adds a frame of the server's: whole, and not masked.
func AppendFrame(dst []byte, first byte, payload []byte) []byte {
	dst = append(dst, flagFinal|first)
	switch n := len(payload); {
	case n <= maxControl:
		dst = append(dst, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, length16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, length64), uint64(n))
	}
	return append(dst, payload...)
}

// CloseFrame returns a close frame with the reason; code 0 = without.
func CloseFrame(code int, text string) []byte {
	if code == 0 {
		return AppendFrame(nil, opClose, nil)
	}
	payload := binary.BigEndian.AppendUint16(nil, uint16(code))
	payload = append(payload, text...)
	return AppendFrame(nil, opClose, payload[:min(len(payload), maxControl)])
}
