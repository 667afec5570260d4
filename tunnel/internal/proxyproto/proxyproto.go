// Package proxyproto writes and reads the header of the PROXY protocol, by which a proxy tells a
// server the client's address: haproxy's doc/proxy-protocol.txt. It writes version 2 and reads
// both.
package proxyproto

import (
	"encoding/binary"
	"net/netip"
)

const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"

	proxied = 0x21 // version 2, command PROXY
	local   = 0x20 // version 2, command LOCAL

	unspecified = 0x00
	tcp4        = 0x11
	tcp6        = 0x21

	typeALPN      = 0x01
	typeAuthority = 0x02
	typeChecksum  = 0x03

	// maxValue bounds each value about a client, so that a header stays below the limit of
	// receivers: haproxy reads up to 16 KiB, others 536 bytes.
	maxValue = 255
)

// Header describes a connection.
type Header struct {
	// Source and Destination are the client's address and the one that it dialled. If either is
	// invalid, the header marks the connection as the proxy's own (LOCAL). Parse returns both, or
	// neither: then the addresses are those of the socket.
	Source, Destination netip.AddrPort
	ALPN                string // agreed on or offered; "": absent
	Authority           string // the server name of TLS; "": absent
}

// Append appends the header to dst. Addresses of different families are both sent
// as IPv6, the one of IPv4 mapped; values of more than 255 bytes are left out.
func (h *Header) Append(dst []byte) []byte {
	dst = append(dst, signature...)
	source, destination := h.Source.Addr().Unmap(), h.Destination.Addr().Unmap()
	if !source.IsValid() || !destination.IsValid() {
		return append(dst, local, unspecified, 0, 0)
	}
	dst = append(dst, proxied)
	family := byte(tcp6)
	if source.Is4() && destination.Is4() {
		family = tcp4
	}
	dst = append(dst, family, 0, 0)
	from := len(dst)
	if family == tcp4 {
		a, b := source.As4(), destination.As4()
		dst = append(append(dst, a[:]...), b[:]...)
	} else {
		a, b := source.As16(), destination.As16()
		dst = append(append(dst, a[:]...), b[:]...)
	}
	dst = binary.BigEndian.AppendUint16(dst, h.Source.Port())
	dst = binary.BigEndian.AppendUint16(dst, h.Destination.Port())
	dst = appendValue(dst, typeALPN, h.ALPN)
	dst = appendValue(dst, typeAuthority, h.Authority)
	binary.BigEndian.PutUint16(dst[from-2:], uint16(len(dst)-from))
	return dst
}

func appendValue(dst []byte, kind byte, value string) []byte {
	if value == "" || len(value) > maxValue {
		return dst
	}
	dst = append(dst, kind, 0, byte(len(value)))
	return append(dst, value...)
}
