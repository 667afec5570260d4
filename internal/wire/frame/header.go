package frame

import (
	"encoding/binary"
	"fmt"

	"paddock/wire/protocol"
)

// Type is the kind of a frame.
type Type uint8

// The frames of SPEC section 2, each with its id and payload.
const (
	POST      Type = iota // kind; body
	POSTS                 // kind; uvarint length and body, once or more
	REQ                   // slot; kind u32, [meta], body
	RES                   // slot; [meta], body or error block
	OPEN                  // slot; kind u32, credit u32, [meta], first data
	DATA                  // slot; bytes
	RESET                 // slot; code u16, text
	CREDIT                // slot, 0 or 1; delta u32
	CANCEL                // slot; nothing
	PING                  // 0; 8 bytes
	ACK                   // 0; count u64
	HELLO                 // 0; CBOR map
	GOAWAY                // count; code u16, 0 u16, retry u32, jitter u32, text
	BIND                  // kind; CBOR [name] or [name, codec]
	EXTENSION             // any; whatever
	CRITICAL              // any; whatever
)

// Flags are the low nibble of a header's byte 3. The meaning of a bit depends on the frame's type.
type Flags uint8

// The flags by name. Those of one type never share a bit.
const (
	FlagAck     Flags = 1 << 0 // POST, POSTS: an ACK is wanted
	FlagErr     Flags = 1 << 0 // RES: the payload is an error block
	FlagEnd     Flags = 1 << 0 // OPEN, DATA: the sender's half ends
	FlagStop    Flags = 1 << 0 // RESET: only the receiver's half
	FlagPong    Flags = 1 << 0 // PING: an answer
	FlagMore    Flags = 1 << 1 // REQ, RES: DATA follows; DATA: the message goes on
	FlagConfirm Flags = 1 << 1 // OPEN: no bytes before RES
	FlagMeta    Flags = 1 << 2 // REQ, RES, OPEN: a meta block comes first
	FlagComp    Flags = 1 << 3 // the body is compressed
)

const (
	// HeaderSize is the length of a frame's header in bytes.
	HeaderSize = 8
	// MaxPayload is the largest length that 24 bits can hold. A receiver may accept less, see
	// Hello.MaxFrame.
	MaxPayload = 1<<24 - 1
	// MaxHello bounds the bytes that an unknown peer can make this side keep.
	MaxHello = 4096
	// MaxMeta bounds a meta block.
	MaxMeta = 8192
	// MaxKind is the highest number of a kind.
	MaxKind = 1024
	// MaxText bounds the text of RESET and GOAWAY.
	MaxText = 256
	// MaxMessage bounds the text of an error block.
	MaxMessage = 1024

	maxBind = 320
)

// idRule tells the ids that a type allows.
type idRule uint8

const (
	idAny idRule = iota
	idZero
	idSlot
	idCredit // a slot, the connection or the post lane
	idKind
)

// frameRule is a row of SPEC's table of frames.
type frameRule struct {
	name  string
	flags [4]string // by bit; "" is reserved
	id    idRule
	min   uint32 // bytes of payload
	max   uint32
}

var frameRules = [16]frameRule{
	POST:      {"POST", [4]string{"ACK", "", "", "COMP"}, idKind, 0, MaxPayload},
	POSTS:     {"POSTS", [4]string{"ACK", "", "", "COMP"}, idKind, 0, MaxPayload},
	REQ:       {"REQ", [4]string{"", "MORE", "META", "COMP"}, idSlot, 4, MaxPayload},
	RES:       {"RES", [4]string{"ERR", "MORE", "META", "COMP"}, idSlot, 0, MaxPayload},
	OPEN:      {"OPEN", [4]string{"END", "CONFIRM", "META", ""}, idSlot, 8, MaxPayload},
	DATA:      {"DATA", [4]string{"END", "MORE", "", "COMP"}, idSlot, 0, MaxPayload},
	RESET:     {"RESET", [4]string{"STOP"}, idSlot, 2, 2 + MaxText},
	CREDIT:    {"CREDIT", [4]string{}, idCredit, 4, 4},
	CANCEL:    {"CANCEL", [4]string{}, idSlot, 0, 0},
	PING:      {"PING", [4]string{"PONG"}, idZero, 8, 8},
	ACK:       {"ACK", [4]string{}, idZero, 8, 8},
	HELLO:     {"HELLO", [4]string{}, idZero, 1, MaxHello},
	GOAWAY:    {"GOAWAY", [4]string{}, idAny, 12, 12 + MaxText},
	BIND:      {"BIND", [4]string{}, idKind, 1, maxBind},
	EXTENSION: {"EXTENSION", [4]string{"1", "2", "4", "8"}, idAny, 0, MaxPayload},
	CRITICAL:  {"CRITICAL", [4]string{"1", "2", "4", "8"}, idAny, 0, MaxPayload},
}

// reservedFlags has the bits that a type does not name.
var reservedFlags = func() (masks [16]Flags) {
	for t, rule := range frameRules {
		for bit, name := range rule.flags {
			if name == "" {
				masks[t] |= 1 << bit
			}
		}
	}
	return masks
}()

// String is the type's name in SPEC.
func (t Type) String() string { return frameRules[t&15].name }

// HasSlot reports whether frames of a type may name a slot.
func HasSlot(t Type) bool {
	rule := frameRules[t&15].id
	return rule == idSlot || rule == idCredit
}

// Header is the first 8 bytes of a frame, read as one little-endian number: 24
// bits of payload length, 4 of flags, 4 of type, 32 of id.
type Header uint64

// MakeHeader packs a header. length is at most MaxPayload.
func MakeHeader(t Type, flags Flags, id uint32, length int) Header {
	return Header(uint64(id)<<32 | uint64(t&15)<<28 | uint64(flags&15)<<24 | uint64(length)&MaxPayload)
}

// ParseHeader reads the header at the start of b, which has HeaderSize bytes or
// more. Nothing is checked; see Check.
func ParseHeader(b []byte) Header { return Header(binary.LittleEndian.Uint64(b)) }

// Append appends the header's 8 bytes.
func (h Header) Append(dst []byte) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(h))
}

// Put writes the header's 8 bytes over the start of b.
func (h Header) Put(b []byte) { binary.LittleEndian.PutUint64(b, uint64(h)) }

// Len is the length of the payload in bytes.
func (h Header) Len() int { return int(h & MaxPayload) }

// Flags are the frame's flags.
func (h Header) Flags() Flags { return Flags(h>>24) & 15 }

// Type is the frame's type.
func (h Header) Type() Type { return Type(h>>28) & 15 }

// ID is a slot, a kind, a count or 0.
func (h Header) ID() uint32 { return uint32(h >> 32) }

// String is for logs: the type, the id and the length.
func (h Header) String() string {
	return fmt.Sprintf("%v id=%#x flags=%#x length=%d", h.Type(), h.ID(), uint8(h.Flags()), h.Len())
}

// Check judges a header alone, before a byte of payload has come: rules 1 to 5 of SPEC section 2.
// maxFrame is the limit in the receiver's HELLO. The error is a *ProtocolError.
func (h Header) Check(maxFrame uint32) error {
	t, n := h.Type(), uint32(h.Len())
	rule := &frameRules[t]
	switch {
	case n > maxFrame || t == HELLO && n > MaxHello:
		return h.fail(protocol.FrameSize, TooLong)
	case t == CRITICAL:
		return h.fail(protocol.Unsupported, Critical)
	case h.Flags()&reservedFlags[t] != 0:
		return h.fail(protocol.Protocol, ReservedFlag)
	case t == RES && h.Flags()&(FlagErr|FlagMore) == FlagErr|FlagMore:
		return h.fail(protocol.Protocol, FlagsTogether)
	case !rule.id.allows(h.ID()):
		return h.fail(protocol.Protocol, BadID)
	case n < rule.min:
		return h.fail(protocol.Protocol, Short)
	case n > rule.max:
		return h.fail(protocol.Protocol, Trailing)
	}
	return nil
}

func (h Header) fail(code protocol.Code, reason Reason) error {
	return &ProtocolError{Frame: h.Type(), ID: h.ID(), Code: code, Reason: reason}
}

func (r idRule) allows(id uint32) bool {
	switch r {
	case idZero:
		return id == 0
	case idSlot:
		return Slot(id).Valid()
	case idCredit:
		return id <= 1 || Slot(id).Valid()
	case idKind:
		return 1 <= id && id <= MaxKind
	}
	return true
}
