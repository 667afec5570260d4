package tunnel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// The kinds of SPEC section 1.
const (
	kindBind   = "tunnel.bind"
	kindUnbind = "tunnel.unbind"
	kindTry    = "tunnel.try"
	kindHint   = "tunnel.hint"
	kindHTTP   = "tunnel.http"
	kindConn   = "tunnel.conn"
)

const (
	version = 1

	// maxHead bounds a head on the link: with opening and frame header it fits the
	// first credit and the frame that every wire peer of ours announces, 64 KiB.
	maxHead = 48 << 10
	// maxRecord bounds the body bytes of one record. Two of them are in memory for
	// each stream that copies.
	maxRecord = 32 << 10
	// maxSmall and minSmall bound what small_max may say.
	maxSmall, minSmall = 32 << 10, 1 << 10
)

// flags of an opening.
type flags uint8

const (
	flagTLS        flags = 1 << iota // the visitor came over TLS
	flagIdempotent                   // doing it twice does no harm
	flagHead                         // the method is HEAD
	flagUpgrade                      // the visitor asks for another protocol

	flagsKnown = flagTLS | flagIdempotent | flagHead | flagUpgrade
)

// Records of a stream.
const (
	recordBody     = 0
	recordInterim  = 1
	recordHead     = 2
	recordTrailers = 3
)

// opening begins an exchange: SPEC section 3. head and rest are borrowed.
type opening struct {
	flags   flags
	tunnel  uint16
	visitor netip.AddrPort // the zero value: unknown
	head    []byte
	rest    []byte
}

// errExchange is wrapped by what the parsers of this file return.
var errExchange = errors.New("tunnel: malformed exchange")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errExchange, fmt.Sprintf(format, args...))
}

// appendOpening appends all of o.
func appendOpening(dst []byte, o *opening) []byte {
	dst = append(dst, version, byte(o.flags))
	dst = binary.LittleEndian.AppendUint16(dst, o.tunnel)
	dst = appendAddress(dst, o.visitor)
	dst = binary.AppendUvarint(dst, uint64(len(o.head)))
	dst = append(dst, o.head...)
	return append(dst, o.rest...)
}

// setTunnel changes the tunnel of an opening that was made.
func setTunnel(opening []byte, id uint16) { binary.LittleEndian.PutUint16(opening[2:], id) }

// parseOpening is the opposite of appendOpening, for any bytes.
func parseOpening(b []byte) (o opening, err error) {
	if len(b) < 4 {
		return o, malformed("%d bytes", len(b))
	}
	o.flags, o.tunnel = flags(b[1]), binary.LittleEndian.Uint16(b[2:])
	switch {
	case b[0] != version:
		return o, malformed("version %d", b[0])
	case o.flags&^flagsKnown != 0:
		return o, malformed("flags %#x", b[1])
	}
	if o.visitor, b, err = cutAddress(b[4:]); err != nil {
		return o, err
	}
	o.head, o.rest, err = cutHead(b, 1)
	return o, err
}

// appendAnswer appends the answer of a small exchange, or the beginning of one that is
// promoted.
func appendAnswer(dst, head, rest []byte) []byte {
	dst = append(dst, version, 0)
	dst = binary.AppendUvarint(dst, uint64(len(head)))
	dst = append(dst, head...)
	return append(dst, rest...)
}

// parseAnswer is the opposite of appendAnswer, for any bytes. What it returns is
// borrowed.
func parseAnswer(b []byte) (head, rest []byte, err error) {
	switch {
	case len(b) < 2:
		return nil, nil, malformed("answer of %d bytes", len(b))
	case b[0] != version:
		return nil, nil, malformed("answer of version %d", b[0])
	case b[1] != 0:
		return nil, nil, malformed("answer with flags %#x", b[1])
	}
	head, rest, err = cutHead(b[2:], 0)
	if err == nil && len(head) == 0 && len(rest) > 0 {
		err = malformed("a body and no head")
	}
	return head, rest, err
}

// cutHead cuts a head off that has at least so many bytes.
func cutHead(b []byte, least uint64) (head, rest []byte, err error) {
	n, b, err := cutUvarint(b)
	switch {
	case err != nil:
		return nil, nil, err
	case n < least || n > maxHead:
		return nil, nil, malformed("head of %d bytes", n)
	case n > uint64(len(b)):
		return nil, nil, malformed("head of %d bytes, and %d are left", n, len(b))
	}
	return b[:n:n], b[n:], nil
}

// cutUvarint cuts a number off that is in its shortest form and at most 2^32-1.
func cutUvarint(b []byte) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > 1<<32-1 || size > 1 && b[size-1] == 0 {
		return 0, nil, malformed("length")
	}
	return n, b[size:], nil
}

// appendAddress appends length, address and port; what is not valid is unknown.
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
		return a, nil, malformed("address")
	}
	end := 1 + int(b[0])
	port := binary.LittleEndian.Uint16(b[end:])
	if address, ok := netip.AddrFromSlice(b[1:end]); ok {
		if address.Is4In6() {
			return a, nil, malformed("an IPv4 address in 16 bytes")
		}
		a = netip.AddrPortFrom(address, port)
	} else if port != 0 {
		return a, nil, malformed("a port without an address")
	}
	return a, b[end+2:], nil
}
