package protocol

import (
	"encoding/binary"
	"math/bits"
)

// quickLen is the shortest PUB that quick handles: eight bytes can be read at any of its line's.
const quickLen = 16

// quick handles the PUBs that buf begins with and that are whole and written the usual way, and
// returns how many bytes that were. It handles each in the same way as operation, which handles the
// rest.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (p *Parser) quick(buf []byte, h Handler) (n int, err error) {
	for len(buf)-n >= quickLen && err == nil {
		whole := p.quickPub(buf[n:])
		if whole == 0 {
			break
		}
		n += whole
		err = h.OnPublish(&p.pub)
	}
	return n, err
}

// quickPub reads `PUB subject [reply] size`, with single spaces, no leading zeros
// and CRLF, and the payload. It returns 0 if b does not begin so.
func (p *Parser) quickPub(b []byte) (whole int) {
	if string(b[:4]) != "PUB " {
		return 0
	}
	args := b[4:]
	space := token(args, 0)
	if space <= 0 || args[space] != ' ' {
		return 0
	}
	reply := 0 // where it ends
	size, end := number(args, space+1)
	if end == 0 {
		reply = token(args, space+1)
		if reply <= space+1 || args[reply] != ' ' {
			return 0
		}
		if size, end = number(args, reply+1); end == 0 {
			return 0
		}
	}
	data := end + len(crlf)
	stop := data + size
	if end > p.MaxLine || size > p.MaxPayload || stop+len(crlf) > len(args) || args[stop] != '\r' || args[stop+1] != '\n' {
		return 0
	}
	// Field by field: a whole struct is made elsewhere first and copied in larger steps
	// than it was written in, for which the processor has to wait.
	pub := &p.pub
	pub.Subject, pub.Reply = args[:space:space], nil
	pub.Payload, pub.Header = args[data:stop:stop], 0
	pub.Exact = args[space+1 : stop+len(crlf)]
	if reply > 0 {
		pub.Reply = args[space+1 : reply : reply]
	}
	return 4 + stop + len(crlf)
}

// token returns where the bytes above the space end that begin at a place of b, or
// -1 if there are not eight bytes more to tell.
func token(b []byte, at int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(b); at += 8 {
		x := binary.LittleEndian.Uint64(b[at:])
		if below := (x - ones*'!') & ^x & high; below != 0 { // the lowest one is right
			return at + bits.TrailingZeros64(below)/8
		}
	}
	return -1
}

// number reads a size without leading zeros that ends with CRLF, and returns where
// that is; 0 if there is none.
func number(b []byte, at int) (n, end int) {
	end = at
	for ; end < len(b) && end-at < maxSizeDigits; end++ {
		digit := b[end] - '0'
		if digit > 9 {
			break
		}
		n = n*10 + int(digit)
	}
	if end == at || end+1 >= len(b) || b[end] != '\r' || b[end+1] != '\n' || b[at] == '0' && end > at+1 {
		return 0, 0
	}
	return n, end
}
