// Package message is the tunnel's protocol as bytes, without I/O: sections 3, 4, 6 and 10 of its
// SPEC. It holds the openings of exchanges and raw connections with their answers, the ticket of a
// direct channel, and the hint. Each has an Append function and a Parse function, which inverts it
// for valid bytes and returns an error that wraps [ErrMalformed] for all others.
//
// Parsed values borrow the given bytes. The requests of section 2, by which a client binds its
// tunnels, are CBOR: see bind.go.
package message

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// The kinds of requests, posts and streams of wire: SPEC section 1.
const (
	KindBind   = "tunnel.bind"
	KindUnbind = "tunnel.unbind"
	KindTry    = "tunnel.try"
	KindHint   = "tunnel.hint"
	KindHTTP   = "tunnel.http"
	KindConn   = "tunnel.conn"
)

const (
	// Version is that of the protocol, and the first byte of every message.
	Version = 1

	// MaxRecord bounds the bytes of the body in one record. Two of them are in memory for
	// each stream that copies.
	MaxRecord = 32 << 10
	// MaxSmall and MinSmall bound the value of small_max: the most bytes that head and body of a
	// small exchange have together.
	MaxSmall, MinSmall = 32 << 10, 1 << 10
)

// ErrMalformed is wrapped by every error of this package.
var ErrMalformed = errors.New("tunnel: malformed exchange")

// Malformed returns an error that wraps [ErrMalformed] and names the fault.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// cutUvarint cuts a number off that is in its shortest form and at most 2^32-1.
func cutUvarint(b []byte) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > 1<<32-1 || size > 1 && b[size-1] == 0 {
		return 0, nil, Malformed("length")
	}
	return n, b[size:], nil
}

// appendAddress appends length, address and port; an invalid address is written as unknown.
func appendAddress(dst []byte, a netip.AddrPort) []byte {
	address := a.Addr().Unmap().AsSlice()
	dst = append(dst, byte(len(address)))
	dst = append(dst, address...)
	if len(address) == 0 {
		return append(dst, 0, 0)
	}
	return binary.LittleEndian.AppendUint16(dst, a.Port())
}

// cutAddress is the opposite of appendAddress, for any bytes.
func cutAddress(b []byte) (a netip.AddrPort, rest []byte, err error) {
	if len(b) == 0 || b[0] != 0 && b[0] != 4 && b[0] != 16 || len(b) < 1+int(b[0])+2 {
		return a, nil, Malformed("address")
	}
	end := 1 + int(b[0])
	port := binary.LittleEndian.Uint16(b[end:])
	if address, ok := netip.AddrFromSlice(b[1:end]); ok {
		if address.Is4In6() {
			return a, nil, Malformed("an IPv4 address in 16 bytes")
		}
		a = netip.AddrPortFrom(address, port)
	} else if port != 0 {
		return a, nil, Malformed("a port without an address")
	}
	return a, b[end+2:], nil
}
