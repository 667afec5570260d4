package message

import (
	"encoding/binary"
	"net/netip"
)

// Channel begins a raw connection: SPEC section 6. Name and Rest are borrowed.
type Channel struct {
	SNI     bool           // it was found by the name in a ClientHello
	Tunnel  uint16         // its id, from 1
	Visitor netip.AddrPort // the zero value: unknown
	Local   netip.AddrPort // that the visitor has dialed
	Name    []byte         // of the ClientHello, with SNI
	Ticket  *Ticket        // nil: the stream carries the bytes
	Rest    []byte         // the first bytes
}

// The flags of a channel.
const (
	flagSNI = 1 << iota
	flagDirect
)

// MaxServerName bounds a name in TLS, in bytes: RFC 6066 section 3 with RFC 1035.
const MaxServerName = 255

// AppendChannel appends all of c.
func AppendChannel(dst []byte, c *Channel) []byte {
	flags := byte(0)
	if c.SNI {
		flags |= flagSNI
	}
	if c.Ticket != nil {
		flags |= flagDirect
	}
	dst = append(dst, Version, flags)
	dst = binary.LittleEndian.AppendUint16(dst, c.Tunnel)
	dst = appendAddress(dst, c.Visitor)
	dst = appendAddress(dst, c.Local)
	dst = binary.AppendUvarint(dst, uint64(len(c.Name)))
	dst = append(dst, c.Name...)
	if c.Ticket != nil {
		dst = appendTicket(dst, c.Ticket)
	}
	return append(dst, c.Rest...)
}

// ParseChannel is the opposite of [AppendChannel], for any bytes.
func ParseChannel(b []byte) (c Channel, err error) {
	if len(b) < 4 {
		return c, Malformed("%d bytes", len(b))
	}
	flags := b[1]
	c.SNI, c.Tunnel = flags&flagSNI != 0, binary.LittleEndian.Uint16(b[2:])
	switch {
	case b[0] != Version:
		return c, Malformed("version %d", b[0])
	case flags&^(flagSNI|flagDirect) != 0:
		return c, Malformed("flags %#x", flags)
	}
	if c.Visitor, b, err = cutAddress(b[4:]); err != nil {
		return c, err
	}
	if c.Local, b, err = cutAddress(b); err != nil {
		return c, err
	}
	n, b, err := cutUvarint(b)
	switch {
	case err != nil:
		return c, err
	case n > MaxServerName || n > uint64(len(b)) || n > 0 && !c.SNI:
		return c, Malformed("server name of %d bytes", n)
	}
	c.Name, b = b[:n:n], b[n:]
	if flags&flagDirect != 0 {
		if c.Ticket, b, err = cutTicket(b); err != nil {
			return c, err
		}
	}
	c.Rest = b
	return c, nil
}
