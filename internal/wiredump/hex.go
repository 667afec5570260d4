package wiredump

import (
	"bufio"
	"fmt"
	"io"
)

// Hex decodes pairs of hexadecimal digits with optional white space between the pairs. A # begins a
// comment to the end of the line.
func Hex(r io.Reader) io.Reader {
	return &hexReader{text: bufio.NewReader(r), line: 1}
}

type hexReader struct {
	text *bufio.Reader
	line int
	err  error
}

func (h *hexReader) Read(p []byte) (n int, err error) {
	for n < len(p) && h.err == nil {
		var b byte
		if b, h.err = h.pair(); h.err == nil {
			p[n] = b
			n++
		}
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, h.err
}

// pair reads two digits. io.EOF is returned only between two pairs.
func (h *hexReader) pair() (b byte, err error) {
	high, err := h.digit()
	if err != nil {
		return 0, err
	}
	low, err := h.digit()
	if err == io.EOF {
		return 0, fmt.Errorf("line %d: half a byte at the end: %w", h.line, io.ErrUnexpectedEOF)
	}
	return high<<4 | low, err
}

func (h *hexReader) digit() (byte, error) {
	for comment := false; ; {
		c, err := h.text.ReadByte()
		switch {
		case err != nil:
			return 0, err
		case c == '\n':
			h.line++
			comment = false
		case comment || c == ' ' || c == '\t' || c == '\r':
		case c == '#':
			comment = true
		case '0' <= c && c <= '9':
			return c - '0', nil
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			return c | 0x20 - 'a' + 10, nil
		default:
			return 0, fmt.Errorf("line %d: %q is no hexadecimal digit", h.line, c)
		}
	}
}
