package bus

import (
	"bytes"
	"encoding/binary"
)

// quickLen is the shortest PUB that quick handles: eight bytes can be read at any
// of its line's.
const quickLen = 16

// quick handles the PUBs that buf begins with and that are whole and written the
// usual way, and returns how many bytes that were. It handles nothing that
// operation would not handle in the same way, and what it leaves is for that.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (p *parser) quick(buf []byte, h handler) (n int, err error) {
	for len(buf)-n >= quickLen && err == nil {
		whole := p.quickPub(buf[n:])
		if whole == 0 {
			break
		}
		n += whole
		err = h.onPublish(&p.pub)
	}
	return n, err
}

// quickPub reads `PUB subject [reply] size`, with single spaces, no leading zeros
// and CRLF, and the payload, from the right. It returns 0 if b does not begin so.
func (p *parser) quickPub(b []byte) (whole int) {
	if string(b[:4]) != "PUB " {
		return 0
	}
	args := b[4:]
	end := bytes.IndexByte(args, '\n') - 1 // where the CR has to be
	if end < 3 || end > p.maxLine || args[end] != '\r' {
		return 0
	}
	at, size := end, 0 // where the size begins, and what it is
	for scale := 1; at > 0 && at > end-maxSizeDigits; scale *= 10 {
		digit := args[at-1] - '0'
		if digit > 9 {
			break
		}
		size += int(digit) * scale
		at--
	}
	data := end + len(crlf)
	stop := data + size
	switch {
	case at == end || at < 2 || args[at-1] != ' ' || args[at] == '0' && at < end-1:
		return 0
	case size > p.maxPayload || stop+len(crlf) > len(args) || args[stop] != '\r' || args[stop+1] != '\n':
		return 0
	}
	p.pub = publication{subject: args[: at-1 : at-1], payload: args[data:stop:stop], exact: args[at : stop+len(crlf)]}
	if !clean(args, at-1) {
		space := bytes.IndexByte(p.pub.subject, ' ')
		if space < 1 || space+2 >= at || !clean(args, space) || !clean(args[space+1:], at-2-space) {
			return 0
		}
		p.pub.subject, p.pub.reply = args[:space:space], args[space+1:at-1:at-1]
		p.pub.exact = args[space+1 : stop+len(crlf)]
	}
	return 4 + stop + len(crlf)
}

// clean says that none of the first n bytes of b is a space or below. It may say
// so of fewer than are: if b has not eight more.
func clean(b []byte, n int) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	if len(b) < n+8 {
		return false
	}
	for i := 0; i < n; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if n-i < 8 {
			x |= ^uint64(0) << (8 * (n - i))
		}
		if (x-ones*'!')&^x&high != 0 { // some byte is less than '!'
			return false
		}
	}
	return true
}
