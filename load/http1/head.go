package http1

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"paddock/internal/netio/h1"
)

// maxHead bounds the head of an answer, and the trailers of one.
const maxHead = 64 << 10

var (
	errNotHTTP = errors.New("http1: the bytes are no answer of HTTP/1")
	errBigHead = fmt.Errorf("http1: a head of more than %d KiB", maxHead>>10)
)

// head holds the parts of an answer's head that determine where the answer ends.
// Package internal/netio/h1 reads heads for a proxy, which refuses more than RFC 9112 demands and
// returns other errors; a load generator counts each oddity under a class and names it.
type head struct {
	status    uint16
	minor     uint8 // of the version, HTTP/1.minor
	chunked   bool  // the last coding of Transfer-Encoding
	coded     bool  // there is a Transfer-Encoding
	close     bool  // Connection: close
	keepAlive bool  // Connection: keep-alive
	length    int64 // Content-Length; below 0 = there is none

	digits, rest int // where the digits of the only Content-Length begin, and end
}

var version = []byte("HTTP/1.")

// headEnd gives the length of the head at the start of b, with its blank line; 0 = it is
// not complete, and next says where to go on when there is more of it.
func headEnd(b []byte, from int) (end, next int) {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0, from
		}
		line := from + i
		switch {
		case line+1 < len(b) && b[line+1] == '\n':
			return line + 2, 0
		case line+2 < len(b) && b[line+1] == '\r' && b[line+2] == '\n':
			return line + 3, 0
		case line+2 >= len(b):
			return 0, line
		}
		from = line + 1
	}
}

// plausible reports whether b may be the beginning of an answer.
func plausible(b []byte) bool {
	n := min(len(b), len(version))
	return string(b[:n]) == string(version[:n])
}

// parse reads a complete head.
func (h *head) parse(b []byte) error {
	*h = head{length: -1}
	line, at := cutLine(b, 0)
	if err := h.statusLine(line); err != nil {
		return err
	}
	var last field // whose value a folded line would go on with
	for {
		begin := at
		line, at = cutLine(b, begin)
		if len(line) == 0 {
			return h.consistent()
		}
		if line[0] == ' ' || line[0] == '\t' {
			if last == noField || last.frames() {
				return fmt.Errorf("http1: a folded line %s where none may be", clip(line))
			}
			if !h1.IsAll(line, h1.ValueByte) {
				return fmt.Errorf("http1: a control character in the header line %s", clip(line))
			}
			continue
		}
		name, value, err := cutField(line)
		if err != nil {
			return err
		}
		last = fieldOf(name)
		if err := h.take(last, value, begin+len(line)-len(value)); err != nil {
			return err
		}
	}
}

// cutLine gives the line of b that begins at a place, without its end, and where the next
// one begins. An LF alone ends a line too, as RFC 9112 section 2.2 allows.
func cutLine(b []byte, at int) (line []byte, next int) {
	i := bytes.IndexByte(b[at:], '\n')
	if i < 0 {
		return b[at:], len(b)
	}
	line, next = b[at:at+i], at+i+1
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, next
}

// statusLine reads HTTP/1.x, three digits, and a reason that may lack.
func (h *head) statusLine(line []byte) error {
	const least = len("HTTP/1.1 200")
	if len(line) < least || !plausible(line) || !isDigit(line[7]) || line[8] != ' ' ||
		!isDigit(line[9]) || !isDigit(line[10]) || !isDigit(line[11]) || len(line) > least && line[least] != ' ' || !h1.IsAll(line, h1.ValueByte) {
		return fmt.Errorf("http1: the status line %s", clip(line))
	}
	h.minor = line[7] - '0'
	h.status = uint16(line[9]-'0')*100 + uint16(line[10]-'0')*10 + uint16(line[11]-'0')
	if h.status < 100 {
		return fmt.Errorf("http1: the status %03d", h.status)
	}
	return nil
}

// consistent checks the rules that concern the whole head.
func (h *head) consistent() error {
	if h.coded && h.minor == 0 {
		return errors.New("http1: an answer of HTTP/1.0 with a Transfer-Encoding")
	}
	return nil
}

// field is a header field that says something about the end of an answer.
type field uint8

const (
	noField field = iota
	otherField
	contentLength
	transferEncoding
	connection
)

// frames reports whether the field says where the body ends, or the connection.
func (f field) frames() bool { return f >= contentLength }

func fieldOf(name []byte) field {
	switch {
	case len(name) == len("content-length") && h1.EqualFold(name, "content-length"):
		return contentLength
	case len(name) == len("transfer-encoding") && h1.EqualFold(name, "transfer-encoding"):
		return transferEncoding
	case len(name) == len("connection") && h1.EqualFold(name, "connection"):
		return connection
	}
	return otherField
}

// take reads the value of a field, which begins at a place of the head.
func (h *head) take(f field, value []byte, begin int) error {
	switch f {
	case contentLength:
		return h.takeLength(value, begin)
	case transferEncoding:
		return h.takeCodings(value)
	case connection:
		for token := range bytes.SplitSeq(value, []byte{','}) {
			token = trim(token)
			h.close = h.close || h1.EqualFold(token, "close")
			h.keepAlive = h.keepAlive || h1.EqualFold(token, "keep-alive")
		}
	}
	return nil
}

// takeLength reads a Content-Length. Several that agree are as good as one.
func (h *head) takeLength(value []byte, begin int) error {
	n := len(bytes.TrimRight(value, " \t"))
	value = value[:n]
	for _, d := range value {
		if !isDigit(d) {
			return fmt.Errorf("http1: Content-Length %s is not a number", clip(value))
		}
	}
	length, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return fmt.Errorf("http1: Content-Length %s is not a number of bytes", clip(value))
	}
	if h.length >= 0 {
		if h.length != length {
			return fmt.Errorf("http1: Content-Length %d, and %d", h.length, length)
		}
		h.digits, h.rest = 0, 0
		return nil
	}
	h.length, h.digits, h.rest = length, begin, begin+n
	return nil
}

// takeCodings reads a Transfer-Encoding. Chunked comes last, and once.
func (h *head) takeCodings(value []byte) error {
	for token := range bytes.SplitSeq(value, []byte{','}) {
		token = trim(token)
		switch {
		case len(token) == 0:
			continue
		case h.chunked:
			return fmt.Errorf("http1: Transfer-Encoding has %s behind chunked", clip(token))
		}
		h.coded = true
		h.chunked = h1.EqualFold(token, "chunked")
	}
	return nil
}

// cutField takes a header line apart. The value has no blanks before it.
func cutField(line []byte) (name, value []byte, err error) {
	i := 0
	for i < len(line) && isToken[line[i]] {
		i++
	}
	if i == 0 || i == len(line) || line[i] != ':' {
		return nil, nil, fmt.Errorf("http1: the header line %s", clip(line))
	}
	name, value = line[:i], line[i+1:]
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	if !h1.IsAll(value, h1.ValueByte) {
		return nil, nil, fmt.Errorf("http1: a control character in the header line %s", clip(line))
	}
	return name, value, nil
}

// isToken holds the characters of names: RFC 9110 section 5.6.2.
var isToken = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), byte(c)) >= 0
	}
	return t
}()

func isDigit(c byte) bool { return c-'0' < 10 }

func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// clip quotes the beginning of b for an error.
func clip(b []byte) string { return strconv.Quote(string(b[:min(len(b), 60)])) }
