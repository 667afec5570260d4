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
	rest    []byte         // the first bytes
}

// maxServerName bounds a name in TLS, RFC 6066 section 3 with RFC 1035.
const maxServerName = 255

// appendChannel appends all of c.
func appendChannel(dst []byte, c *channel) []byte {
	dst = append(dst, version, 0)
	if c.sni {
		dst[len(dst)-1] = 1
	}
	dst = binary.LittleEndian.AppendUint16(dst, c.tunnel)
	dst = appendAddress(dst, c.visitor)
	dst = appendAddress(dst, c.local)
	dst = binary.AppendUvarint(dst, uint64(len(c.name)))
	dst = append(dst, c.name...)
	return append(dst, c.rest...)
}

// parseChannel is the opposite of appendChannel, for any bytes.
func parseChannel(b []byte) (c channel, err error) {
	if len(b) < 4 {
		return c, malformed("%d bytes", len(b))
	}
	c.sni, c.tunnel = b[1] == 1, binary.LittleEndian.Uint16(b[2:])
	switch {
	case b[0] != version:
		return c, malformed("version %d", b[0])
	case b[1] > 1:
		return c, malformed("flags %#x", b[1])
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
	c.name, c.rest = b[:n:n], b[n:]
	return c, nil
}
