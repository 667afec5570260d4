package proxyproto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// MaxBytes is the longest header that is read, of version 2: addresses and a few names take
// a tenth of it.
const MaxBytes = 4 << 10

const (
	fixed = 16 // of version 2, up to the length of the rest

	// maxFamily and maxTransport are the last that are defined: UNIX and DGRAM.
	maxFamily, maxTransport = 3, 2
)

// Why a header is refused.
var (
	ErrNone      = errors.New("proxyproto: no header")
	ErrMalformed = errors.New("proxyproto: malformed header")
	ErrTooLong   = errors.New("proxyproto: header too long")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Parse reads the header at the beginning of b. n is its length, or 0 without an error if the
// header is incomplete; bytes behind it are ignored. The addresses are invalid if the proxy sends
// none: LOCAL, UNKNOWN, and protocols other than TCP. The error is or wraps one of ErrNone,
// ErrMalformed and ErrTooLong, and more bytes would not change it.
func Parse(b []byte) (h Header, n int, err error) {
	switch {
	case agree(b, signature):
		return parseBinary(b)
	case agree(b, textStart):
		return parseText(b)
	}
	return h, 0, ErrNone
}

// agree reports whether b begins with start, or start with b.
func agree(b []byte, start string) bool {
	n := min(len(b), len(start))
	return string(b[:n]) == start[:n]
}

// parseBinary is Parse of version 2.
func parseBinary(b []byte) (h Header, n int, err error) {
	if len(b) < fixed {
		return h, 0, nil
	}
	command, family := b[len(signature)], b[len(signature)+1]
	n = fixed + int(binary.BigEndian.Uint16(b[fixed-2:]))
	switch {
	case command != proxied && command != local:
		return h, 0, malformed("version and command %#02x", command)
	case command == proxied && (family>>4 > maxFamily || family&15 > maxTransport):
		return h, 0, malformed("family and transport %#02x", family)
	case n > MaxBytes:
		return h, 0, fmt.Errorf("%w: %d bytes", ErrTooLong, n)
	case len(b) < n:
		return h, 0, nil
	case command == local || family != tcp4 && family != tcp6:
		return h, n, nil
	}
	if h, err = parseAddresses(b[:n], family); err != nil {
		return Header{}, 0, err
	}
	return h, n, nil
}

// parseAddresses reads the part of a complete header behind the fixed one: two addresses, two
// ports, and values.
func parseAddresses(header []byte, family byte) (h Header, err error) {
	b, size := header[fixed:], 4
	if family == tcp6 {
		size = 16
	}
	if len(b) < 2*size+4 {
		return h, malformed("%d bytes of addresses, want %d", len(b), 2*size+4)
	}
	at := func(address, port []byte) netip.AddrPort {
		a, _ := netip.AddrFromSlice(address)
		return netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(port))
	}
	h.Source = at(b[:size], b[2*size:])
	h.Destination = at(b[size:2*size], b[2*size+2:])
	return h, h.readValues(header, fixed+2*size+4)
}
