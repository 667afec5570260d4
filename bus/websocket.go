package bus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// The parts of a frame's header: RFC 6455 section 5.2.
const (
	wsFinal    = 0x80
	wsDeflated = 0x40 // RSV1: RFC 7692
	wsReserved = 0x30
	wsMasked   = 0x80
	wsOpcode   = 0x0f
	wsLength   = 0x7f
	wsLength16 = 126
	wsLength64 = 127

	wsContinuation = 0x0
	wsText         = 0x1
	wsBinary       = 0x2
	wsClose        = 0x8
	wsPing         = 0x9
	wsPong         = 0xa

	wsMaxHeader  = 2 + 8 + 4
	wsMaxControl = 125 // bytes of a control frame
)

// The codes of close frames that this broker sends: RFC 6455 section 7.4.1.
const (
	wsNormal      = 1000
	wsGoingAway   = 1001
	wsProtocol    = 1002
	wsInvalid     = 1007
	wsPolicy      = 1008
	wsTooBig      = 1009
	wsServerError = 1011
)

// wsError ends a connection with a close frame.
type wsError struct {
	code int
	text string
}

func (e *wsError) Error() string { return fmt.Sprintf("websocket: %d %s", e.code, e.text) }

func wsBroken(text string) *wsError { return &wsError{wsProtocol, text} }

// errWSStop ends feed because the sink wants no more.
var errWSStop = errors.New("websocket: stop")

// wsSink takes what frames hold. Slices are borrowed until the call returns.
type wsSink interface {
	// data takes payload, in order; false = no more is wanted.
	data(b []byte) bool
	ping(payload []byte)
	// closed is the peer's close frame; code is 0 if it gives none.
	closed(code int, text string)
	// limit is how many bytes a deflated message may have, packed or not.
	limit() int
}

// wsReader takes frames apart that a client sends. It is pure: no I/O, no clock,
// and what comes out does not depend on how the bytes were split. Frames and
// messages are only ways to carry a stream: text or binary, in one piece or many,
// all of it is data. So a frame's length is never more than a number that counts
// down, and costs no memory. Only deflated messages and control frames are kept
// until they are whole; both are bounded.
type wsReader struct {
	deflate bool // permessage-deflate has been agreed on

	head   [wsMaxHeader]byte
	have   int // bytes of head
	rest   uint64
	key    [4]byte
	at     int // of the key
	opcode byte
	final  bool
	inside bool // a frame's payload comes next

	open    bool   // a message goes on: continuations are expected
	packed  bool   // it is deflated
	message []byte // what has come of a deflated message
	control []byte // what has come of a control frame
}

// feed handles b, which it overwrites, to its end or the first error, after which
// the reader must not be used again: a *wsError, or errWSStop. Data is handed over
// once, if no frame in between has to be unpacked: what a read of the socket has
// brought is one batch.
func (r *wsReader) feed(b []byte, sink wsSink) error {
	out := wsData{b: b, sink: sink}
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

// wsData is the data among the bytes that feed has been given: it moves up to the
// front, where headers were.
type wsData struct {
	b    []byte
	n    int // b[:n] is data
	sink wsSink
}

func (d *wsData) add(part []byte) { d.n += copy(d.b[d.n:], part) }

func (d *wsData) flush() error {
	n := d.n
	if d.n = 0; n > 0 && !d.sink.data(d.b[:n]) {
		return errWSStop
	}
	return nil
}

// payload handles the next part of a frame, which is its last unless r.inside.
func (r *wsReader) payload(part []byte, out *wsData) error {
	whole := !r.inside
	switch {
	case r.opcode >= wsClose:
		r.control = append(r.control, part...)
		if !whole {
			return nil
		}
		if r.opcode == wsClose {
			if err := out.flush(); err != nil {
				return err
			}
		}
		return r.handleControl(out.sink)
	case r.packed:
		if len(r.message)+len(part) > out.sink.limit() {
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
func (r *wsReader) header(b []byte) (n int, err error) {
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
	switch second & wsLength {
	case wsLength16:
		return 2 + 2 + 4
	case wsLength64:
		return 2 + 8 + 4
	default:
		return 2 + 4
	}
}

// check judges the first two bytes of a frame.
func (r *wsReader) check(first, second byte) error {
	opcode, final := first&wsOpcode, first&wsFinal != 0
	deflated := first&wsDeflated != 0
	switch {
	case first&wsReserved != 0:
		return wsBroken("RSV2 and RSV3 must be clear")
	case deflated && (!r.deflate || opcode != wsText && opcode != wsBinary):
		return wsBroken("RSV1 must be clear")
	case second&wsMasked == 0:
		return wsBroken("mask bit missing")
	case opcode >= wsClose && (!final || second&wsLength > wsMaxControl):
		return wsBroken("a control frame is short and in one piece")
	case opcode == wsContinuation && !r.open:
		return wsBroken("nothing to continue")
	case (opcode == wsText || opcode == wsBinary) && r.open:
		return wsBroken("the message before has not ended")
	case opcode > wsBinary && opcode < wsClose || opcode > wsPong:
		return wsBroken("unknown opcode")
	}
	r.opcode = opcode
	if opcode >= wsClose {
		return nil
	}
	r.open, r.final = !final, final
	if opcode != wsContinuation {
		r.packed = deflated
	}
	return nil
}

// begin reads the length and the key of a whole header.
func (r *wsReader) begin() error {
	head := r.head[2:r.have]
	switch r.rest = uint64(r.head[1] & wsLength); r.rest {
	case wsLength16:
		r.rest = uint64(binary.BigEndian.Uint16(head))
	case wsLength64:
		if r.rest = binary.BigEndian.Uint64(head); r.rest > math.MaxInt64 {
			return wsBroken("invalid 64-bit payload length")
		}
	}
	copy(r.key[:], head[len(head)-4:])
	r.have, r.at, r.inside = 0, 0, true
	return nil
}

func (r *wsReader) unmask(b []byte) {
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
func (r *wsReader) handleControl(sink wsSink) error {
	payload := r.control
	r.control = r.control[:0]
	switch r.opcode {
	case wsPing:
		sink.ping(payload)
		return nil
	case wsPong:
		return nil
	}
	code, text := 0, ""
	if len(payload) == 1 {
		return wsBroken("close frame payload cannot be 1 byte")
	}
	if len(payload) >= 2 {
		code, text = int(binary.BigEndian.Uint16(payload)), string(payload[2:])
		if !wsValidCode(code) {
			return wsBroken(fmt.Sprintf("invalid close status code %d", code))
		}
		if !utf8.ValidString(text) {
			return &wsError{wsInvalid, "invalid utf8 body in close frame"}
		}
	}
	sink.closed(code, text)
	return errWSStop
}

// wsValidCode says whether a close frame may have the code: RFC 6455 section 7.4,
// and what has been registered since.
func wsValidCode(code int) bool {
	switch {
	case code == 1004, code == 1005, code == 1006, code == 1015:
		return false
	default:
		return code >= 1000 && code < 1016 || code >= 3000 && code < 5000
	}
}

// appendFrame adds a frame of the server's: whole, and not masked.
func appendFrame(dst []byte, first byte, payload []byte) []byte {
	dst = append(dst, wsFinal|first)
	switch n := len(payload); {
	case n <= wsMaxControl:
		dst = append(dst, byte(n))
	case n <= math.MaxUint16:
		dst = binary.BigEndian.AppendUint16(append(dst, wsLength16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, wsLength64), uint64(n))
	}
	return append(dst, payload...)
}

// closeFrame tells the client why; code 0 says nothing.
func closeFrame(code int, text string) []byte {
	if code == 0 {
		return appendFrame(nil, wsClose, nil)
	}
	payload := binary.BigEndian.AppendUint16(nil, uint16(code))
	payload = append(payload, text...)
	return appendFrame(nil, wsClose, payload[:min(len(payload), wsMaxControl)])
}

// closeCode is the code for a reason.
func (r CloseReason) closeCode() int {
	switch r {
	case ClientClosed:
		return wsNormal
	case AuthenticationTimeout, AuthenticationFailure, SlowConsumerPendingBytes, SlowConsumerWriteDeadline,
		MaxConnectionsExceeded, MaxControlLineExceeded:
		return wsPolicy
	case ParseError, ProtocolViolation, BadClientProtocolVersion:
		return wsProtocol
	case MaxPayloadExceeded:
		return wsTooBig
	case WriteError, ReadError, StaleConnection, ServerShutdown:
		return wsGoingAway
	default:
		return wsServerError
	}
}
