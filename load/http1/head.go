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
	last := h1.ContentLengthField // whose value a folded line would go on with; none may be before a field
	for {
		begin := at
		line, at = cutLine(b, begin)
		if len(line) == 0 {
			return h.consistent()
		}
		if line[0] == ' ' || line[0] == '\t' {
			if frames(last) {
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
		last = h1.LookupField(name)
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

// frames reports whether a field says where the body ends, or the connection.
func frames(f h1.KnownField) bool {
	return f == h1.ContentLengthField || f == h1.TransferEncodingField || f == h1.ConnectionField
}

// take reads the value of a field, which begins at a place of the head.
func (h *head) take(f h1.KnownField, value []byte, begin int) error {
	switch f {
	case h1.ContentLengthField:
		return h.takeLength(value, begin)
	case h1.TransferEncodingField:
		return h.takeCodings(value)
	case h1.ConnectionField:
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
	i := bytes.IndexByte(line, ':')
	if i < 1 || !h1.IsAll(line[:i], h1.TokenByte) {
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

func isDigit(c byte) bool { return c-'0' < 10 }

func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// clip quotes the beginning of b for an error.
func clip(b []byte) string { return strconv.Quote(string(b[:min(len(b), 60)])) }
