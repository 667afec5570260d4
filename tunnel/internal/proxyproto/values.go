package proxyproto

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readValues reads those of a whole header, from byte at on: each is a type, two bytes of
// length, and so much. Types that are of no use here are passed over.
func (h *Header) readValues(header []byte, at int) error {
	for at < len(header) {
		rest := header[at:]
		if len(rest) < 3 {
			return malformed("%d bytes behind the last value", len(rest))
		}
		kind, size := rest[0], int(binary.BigEndian.Uint16(rest[1:]))
		if rest = rest[3:]; size > len(rest) {
			return malformed("a value of %d bytes, and %d are left", size, len(rest))
		}
		value := rest[:size]
		at += 3
		switch kind {
		case typeALPN:
			h.ALPN = string(value)
		case typeAuthority:
			h.Authority = string(value)
		case typeChecksum:
			if err := verify(header, at, value); err != nil {
				return err
			}
		}
		at += size
	}
	return nil
}

// verify compares the checksum at a place with that of the header, in which four zeros stand
// there.
func verify(header []byte, at int, value []byte) error {
	if len(value) != crc32.Size {
		return malformed("a checksum of %d bytes", len(value))
	}
	sum := crc32.Update(0, castagnoli, header[:at])
	sum = crc32.Update(sum, castagnoli, make([]byte, crc32.Size))
	sum = crc32.Update(sum, castagnoli, header[at+crc32.Size:])
	if told := binary.BigEndian.Uint32(value); told != sum {
		return malformed("the checksum is %#08x, that of its bytes %#08x", told, sum)
	}
	return nil
}
