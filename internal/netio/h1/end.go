package h1

import (
	"bytes"
	"fmt"
	"net/http"
)

// End returns the length of the head at the front of b, with its empty line, or 0 if the head is
// incomplete. Lines may end in LF alone, as some targets end them. The first seen bytes were
// searched before.
func End(b []byte, seen int) int {
	for at := max(seen-2, 0); ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return 0
		}
		at += n + 1
		switch {
		case at == 1, at == 2 && b[0] == '\r': // no fields at all, as in trailers
			return at
		case at < len(b) && b[at] == '\n':
			return at + 1
		case at+1 < len(b) && b[at] == '\r' && b[at+1] == '\n':
			return at + 2
		}
	}
}

// tooLong returns the error about a head that is too long. first is the end of its first line, or
// -1.
func tooLong(first int) error {
	if first < 0 || first >= MaxVisitorHead {
		return BadRequest(http.StatusRequestURITooLong, "over %d bytes", MaxVisitorHead)
	}
	return BadRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d bytes", MaxVisitorHead)
}

// EmptyLine ends the last line of a head and the head. It is constant.
var EmptyLine = []byte("\r\n\r\n")

// VisitorEnd returns the length of the head at the front of b, with its empty line, or 0 if the
// head is incomplete. The first seen bytes were searched before. An error means that b cannot
// become a valid head; it is returned as early as possible.
func VisitorEnd(b []byte, seen int) (n int, err error) {
	from := max(seen-len(EmptyLine)+1, 0)
	if at := bytes.Index(b[from:], EmptyLine); at >= 0 {
		return from + at + len(EmptyLine), nil
	}
	first := bytes.IndexByte(b, '\n')
	switch {
	case len(b) >= MaxVisitorHead:
		return 0, tooLong(first)
	case first < 0:
		if method, _, _ := bytes.Cut(b, space); !IsAll(method, TokenByte) {
			return 0, Malformed("method %.20q", method)
		}
		return 0, nil
	case seen <= first:
		var h Head
		if _, err := h.visitorLine(b); err != nil {
			return 0, err
		}
	}
	for at := max(from, 0); ; at++ {
		next := bytes.IndexByte(b[at:], '\n')
		if next < 0 {
			return 0, nil
		}
		if at += next; at == 0 || b[at-1] != '\r' {
			return 0, fmt.Errorf("%w: LF without CR", ErrMalformed)
		}
	}
}
