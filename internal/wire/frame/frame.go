// Package frame is the codec of the wire protocol: frames, HELLO and metadata, between bytes and
// values (docs/wire/SPEC.md). It does no I/O and keeps no state.
//
// A slice in a decoded Frame or Meta is borrowed from the input. It is valid until the caller
// reuses the buffer.
package frame

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"paddock/wire/protocol"
)

// Frame is a frame as values. Which fields have a meaning depends on the type,
// the others are zero. Its slices are borrowed from the payload.
type Frame struct {
	Type  Type
	Flags Flags
	ID    uint32 // a slot, a kind, a count or 0

	Kind       uint32        // REQ, OPEN
	Credit     uint32        // OPEN: the opener's grant, 0 = as in its HELLO; CREDIT: the delta
	Code       protocol.Code // RESET, GOAWAY, RES ERR
	NotStarted bool          // RES ERR: it is safe to try again
	RetryAfter uint32        // RES ERR, GOAWAY; milliseconds
	Jitter     uint32        // GOAWAY; milliseconds
	Count      uint64        // ACK; POSTS: how many bodies
	Text       []byte        // RESET, GOAWAY, RES ERR: the message; BIND: the name
	Codec      []byte        // BIND
	Meta       protocol.Meta // if FlagMeta is set
	Body       []byte        // body, bytes, map, batch, PING's 8 bytes, details of RES ERR
}

// Slot is the id as a slot.
func (f *Frame) Slot() Slot { return Slot(f.ID) }

// Has reports whether all of flags are set.
func (f *Frame) Has(flags Flags) bool { return f.Flags&flags == flags }

// Next decodes the first frame of b into f and returns its length, header
// included. 0 without an error means that b does not hold the whole frame yet; a
// bad header is found as soon as it is there. The error is a *ProtocolError.
func Next(b []byte, maxFrame uint32, f *Frame) (n int, err error) {
	if len(b) < HeaderSize {
		return 0, nil
	}
	h := ParseHeader(b)
	if err := h.Check(maxFrame); err != nil {
		return 0, err
	}
	n = HeaderSize + h.Len()
	if len(b) < n {
		return 0, nil
	}
	return n, Decode(h, b[HeaderSize:n:n], f)
}

// Decode reads the frame of header h, which Check has let pass, into f. payload
// has h.Len() bytes. It allocates nothing but its error, a *ProtocolError.
//
// hot: TestDecodeDoesNotAllocate.
func Decode(h Header, payload []byte, f *Frame) error {
	*f = Frame{Type: h.Type(), Flags: h.Flags(), ID: h.ID(), Body: payload}
	if reason := f.decode(payload); reason != "" {
		return h.fail(protocol.Protocol, reason)
	}
	return nil
}

func (f *Frame) decode(p []byte) Reason {
	switch f.Type {
	case POSTS:
		return f.decodeBatch(p)
	case REQ, OPEN:
		return f.decodeFirst(p)
	case RES:
		return f.decodeResponse(p)
	case RESET:
		f.Code, f.Text, f.Body = protocol.Code(binary.LittleEndian.Uint16(p)), p[2:], nil
		if f.Code == 0 {
			return ZeroCode
		}
		return checkText(f.Text, MaxText)
	case CREDIT:
		f.Credit, f.Body = binary.LittleEndian.Uint32(p), nil
		if f.Credit == 0 {
			return ZeroDelta
		}
	case ACK:
		f.Count, f.Body = binary.LittleEndian.Uint64(p), nil
	case GOAWAY:
		return f.decodeGoaway(p)
	case BIND:
		return f.decodeBind(p)
	}
	return ""
}

// decodeFirst reads REQ and OPEN.
func (f *Frame) decodeFirst(p []byte) (reason Reason) {
	f.Kind, p = binary.LittleEndian.Uint32(p), p[4:]
	if f.Type == OPEN {
		f.Credit, p = binary.LittleEndian.Uint32(p), p[4:]
	}
	if f.Kind == 0 || f.Kind > MaxKind {
		return BadKind
	}
	f.Body, reason = f.decodeMeta(p)
	if reason == "" && f.Type == OPEN && f.Has(FlagConfirm) && len(f.Body) > 0 {
		return ConfirmData
	}
	return reason
}

func (f *Frame) decodeResponse(p []byte) (reason Reason) {
	if f.Body, reason = f.decodeMeta(p); reason != "" || !f.Has(FlagErr) {
		return reason
	}
	return f.decodeErrorBlock(f.Body)
}

// decodeMeta reads the meta block, if there is one, and returns the rest.
func (f *Frame) decodeMeta(p []byte) ([]byte, Reason) {
	if !f.Has(FlagMeta) {
		return p, ""
	}
	n, p, reason := cutUvarint(p)
	switch {
	case reason != "":
		return nil, reason
	case n > MaxMeta:
		return nil, BadMeta
	case int(n) > len(p):
		return nil, Short
	}
	return p[n:], parseMeta(p[:n], &f.Meta)
}

// ErrorBlockSize is the fixed part of an error block.
const ErrorBlockSize = 8

func (f *Frame) decodeErrorBlock(p []byte) Reason {
	if len(p) < ErrorBlockSize {
		return Short
	}
	f.Code, f.NotStarted = protocol.Code(binary.LittleEndian.Uint16(p)), p[2]&1 == 1
	f.RetryAfter = binary.LittleEndian.Uint32(p[4:])
	if f.Code == 0 {
		return ZeroCode
	}
	if p[2] > 1 || p[3] != 0 {
		return ReservedField
	}
	n, p, reason := cutUvarint(p[ErrorBlockSize:])
	if reason != "" {
		return reason
	}
	if n <= MaxMessage && int(n) > len(p) {
		return Short
	}
	if n > MaxMessage {
		return BadText
	}
	f.Text, f.Body = p[:n], p[n:]
	if len(f.Body) > 0 && !validCBOR(f.Body) {
		return BadCBOR
	}
	return checkText(f.Text, MaxMessage)
}

func (f *Frame) decodeGoaway(p []byte) Reason {
	f.Code, f.RetryAfter = protocol.Code(binary.LittleEndian.Uint16(p)), binary.LittleEndian.Uint32(p[4:])
	f.Jitter, f.Text, f.Body = binary.LittleEndian.Uint32(p[8:]), p[12:], nil
	if binary.LittleEndian.Uint16(p[2:]) != 0 {
		return ReservedField
	}
	return checkText(f.Text, MaxText)
}

func (f *Frame) decodeBind(p []byte) Reason {
	if !validCBOR(p) {
		return BadCBOR
	}
	f.Body = nil
	r := cborReader{b: p}
	count := r.array()
	f.Text = r.text()
	if count == 2 {
		f.Codec = r.text()
	}
	if r.bad || len(r.b) > 0 || !ValidKindName(f.Text) || count == 2 && len(f.Codec) == 0 {
		return BadBind
	}
	return ""
}

// ValidKindName reports whether name may name a kind: 1 to 255 of [a-z0-9._-].
func ValidKindName[T string | []byte](name T) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return 1 <= len(name) && len(name) <= 255
}

func checkText(b []byte, limit int) Reason {
	if len(b) > limit || !utf8.Valid(b) {
		return BadText
	}
	return ""
}

// decodeBatch walks the lengths of a POSTS payload, so that nothing of a bad one
// is delivered.
func (f *Frame) decodeBatch(p []byte) Reason {
	if len(p) == 0 {
		return EmptyBatch
	}
	for len(p) > 0 {
		n, rest, reason := cutUvarint(p)
		if reason != "" {
			return reason
		}
		if uint64(n) > uint64(len(rest)) {
			return Short
		}
		p = rest[n:]
		f.Count++
	}
	return ""
}

// CutPost splits the first body off a POSTS payload that Decode has let pass.
//
// hot: TestDecodeDoesNotAllocate.
func CutPost(batch []byte) (body, rest []byte) {
	if n := batch[0]; n < 0x80 {
		return batch[1 : 1+n], batch[1+n:]
	}
	n, rest, _ := cutUvarint(batch)
	return rest[:n], rest[n:]
}

// cutUvarint reads a uvarint: the shortest form only, at most 32 bits.
func cutUvarint(p []byte) (n uint32, rest []byte, reason Reason) {
	for i, c := range p {
		if i == 4 && c > 0x0F {
			return 0, nil, BadVarint // over 32 bits
		}
		n |= uint32(c&0x7F) << (7 * i)
		if c < 0x80 {
			if c == 0 && i > 0 {
				return 0, nil, BadVarint // a shorter form exists
			}
			return n, p[i+1:], ""
		}
	}
	return 0, nil, Short
}

// UvarintLen is the length of n's shortest form.
func UvarintLen(n uint32) int { return (bits.Len32(n|1) + 6) / 7 }

// SetMeta gives f a meta block.
func (f *Frame) SetMeta(meta []byte) {
	if meta != nil {
		f.Flags |= FlagMeta
		f.Meta.Raw = meta
	}
}

// Size is an upper bound of the payload of REQ, RES and OPEN.
func (f *Frame) Size() int {
	const fixed = 8 + 5 // kind and credit, length of meta
	return fixed + len(f.Meta.Raw) + len(f.Body)
}
