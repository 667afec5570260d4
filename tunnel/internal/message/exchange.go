package message

import (
	"encoding/binary"
	"net/netip"

	"paddock/internal/netio/h1"
)

// Flags are the one-bit fields of an opening.
type Flags uint8

// The flags.
const (
	FlagTLS        Flags = 1 << iota // the visitor came over TLS
	FlagIdempotent                   // doing it twice does no harm
	FlagHead                         // the method is HEAD
	FlagUpgrade                      // the visitor asks for another protocol

	flagsKnown = FlagTLS | FlagIdempotent | FlagHead | FlagUpgrade
)

// The records of a stream, SPEC section 4: the first byte of each of its messages.
const (
	RecordBody     = 0
	RecordInterim  = 1
	RecordHead     = 2
	RecordTrailers = 3
)

// Opening begins an exchange: SPEC section 3. Head and Rest are borrowed.
type Opening struct {
	Flags   Flags
	Tunnel  uint16         // its id, from 1
	Visitor netip.AddrPort // the zero value: unknown
	Head    []byte         // of the request, as package h1 has it
	Rest    []byte         // the body, or its beginning
}

// AppendOpening appends all of o.
func AppendOpening(dst []byte, o *Opening) []byte {
	dst = append(dst, Version, byte(o.Flags))
	dst = binary.LittleEndian.AppendUint16(dst, o.Tunnel)
	dst = appendAddress(dst, o.Visitor)
	dst = binary.AppendUvarint(dst, uint64(len(o.Head)))
	dst = append(dst, o.Head...)
	return append(dst, o.Rest...)
}

// SetTunnel changes the tunnel of an opening that AppendOpening has made.
func SetTunnel(opening []byte, id uint16) { binary.LittleEndian.PutUint16(opening[2:], id) }

// ParseOpening is the opposite of [AppendOpening], for any bytes.
func ParseOpening(b []byte) (o Opening, err error) {
	if len(b) < 4 {
		return o, Malformed("%d bytes", len(b))
	}
	o.Flags, o.Tunnel = Flags(b[1]), binary.LittleEndian.Uint16(b[2:])
	switch {
	case b[0] != Version:
		return o, Malformed("version %d", b[0])
	case o.Flags&^flagsKnown != 0:
		return o, Malformed("flags %#x", b[1])
	}
	if o.Visitor, b, err = cutAddress(b[4:]); err != nil {
		return o, err
	}
	o.Head, o.Rest, err = cutHead(b, 1)
	return o, err
}

// AppendAnswer appends the answer of a small exchange, or the beginning of one that is
// promoted.
func AppendAnswer(dst, head, rest []byte) []byte {
	dst = append(dst, Version, 0)
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	return append(dst, rest...)
}

// ParseAnswer is the inverse of [AppendAnswer]. Its results borrow b.
func ParseAnswer(b []byte) (head, rest []byte, err error) {
	switch {
	case len(b) < 2:
		return nil, nil, Malformed("answer of %d bytes", len(b))
	case b[0] != Version:
		return nil, nil, Malformed("answer of version %d", b[0])
	case b[1] != 0:
		return nil, nil, Malformed("answer with flags %#x", b[1])
	}
	head, rest, err = cutHead(b[2:], 0)
	if err == nil && len(head) == 0 && len(rest) > 0 {
		err = Malformed("a body and no head")
	}
	return head, rest, err
}

// cutHead cuts a head off that has at least so many bytes.
func cutHead(b []byte, least uint64) (head, rest []byte, err error) {
	n, b, err := cutUvarint(b)
	switch {
	case err != nil:
		return nil, nil, err
	case n < least || n > h1.MaxHead:
		return nil, nil, Malformed("head of %d bytes", n)
	case n > uint64(len(b)):
		return nil, nil, Malformed("head of %d bytes, and %d are left", n, len(b))
	}
	return b[:n:n], b[n:], nil
}
