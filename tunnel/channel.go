package tunnel

import (
	"encoding/binary"
	"net/netip"
)

// channel begins a raw connection: SPEC section 6. name and rest are borrowed.
type channel struct {
	sni     bool
	tunnel  uint16
	visitor netip.AddrPort // the zero value: unknown
	local   netip.AddrPort // that the visitor has dialed
	name    []byte         // of the ClientHello, with sni
	ticket  *ticket        // nil: the stream carries the bytes
	rest    []byte         // the first bytes
}

// The flags of a channel.
const (
	flagSNI = 1 << iota
	flagDirect
)

// maxServerName bounds a name in TLS, RFC 6066 section 3 with RFC 1035.
const maxServerName = 255

// appendChannel appends all of c.
func appendChannel(dst []byte, c *channel) []byte {
	flags := byte(0)
	if c.sni {
		flags |= flagSNI
	}
	if c.ticket != nil {
		flags |= flagDirect
	}
	dst = append(dst, version, flags)
	dst = binary.LittleEndian.AppendUint16(dst, c.tunnel)
	dst = appendAddress(dst, c.visitor)
	dst = appendAddress(dst, c.local)
	dst = binary.AppendUvarint(dst, uint64(len(c.name)))
	dst = append(dst, c.name...)
	if c.ticket != nil {
		dst = appendTicket(dst, c.ticket)
	}
	return append(dst, c.rest...)
}

// parseChannel is the opposite of appendChannel, for any bytes.
func parseChannel(b []byte) (c channel, err error) {
	if len(b) < 4 {
		return c, malformed("%d bytes", len(b))
	}
	flags := b[1]
	c.sni, c.tunnel = flags&flagSNI != 0, binary.LittleEndian.Uint16(b[2:])
	switch {
	case b[0] != version:
		return c, malformed("version %d", b[0])
	case flags&^(flagSNI|flagDirect) != 0:
		return c, malformed("flags %#x", flags)
	}
	if c.visitor, b, err = cutAddress(b[4:]); err != nil {
		return c, err
	}
	if c.local, b, err = cutAddress(b); err != nil {
		return c, err
	}
	n, b, err := cutUvarint(b)
	switch {
	case err != nil:
		return c, err
	case n > maxServerName || n > uint64(len(b)) || n > 0 && !c.sni:
		return c, malformed("server name of %d bytes", n)
	}
	c.name, b = b[:n:n], b[n:]
	if flags&flagDirect != 0 {
		if c.ticket, b, err = cutTicket(b); err != nil {
			return c, err
		}
	}
	c.rest = b
	return c, nil
}
