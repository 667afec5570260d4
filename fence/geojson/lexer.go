package geojson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxDepth bounds how deep arrays and objects of a document may nest. GeoJSON itself needs 8.
	maxDepth = 64
	// readSize is how much is asked of a reader at once.
	readSize = 64 << 10
)

// lexer checks a stream for JSON syntax (RFC 8259) and hands out the bytes of chosen values.
// It holds no more of the stream than the value in hand and one read.
type lexer struct {
	file  string
	r     io.Reader // nil when buf is all there is
	rerr  error     // what r ended with
	depth int

	buf   []byte
	pos   int   // of the next byte in buf
	base  int64 // offset of buf[0] in the stream
	lines int   // line feeds before buf[0]
	line  int64 // offset of the first byte of the line that buf[0] is in

	start int // of the value in hand; -1 if nothing is kept
	limit int // bytes to keep of a value
}

func newLexer(r io.Reader, file string, limit int) *lexer {
	return &lexer{file: file, r: r, start: -1, limit: limit}
}

// peek is the next byte; false at the end of the stream.
func (l *lexer) peek() (byte, bool) {
	if l.pos < len(l.buf) {
		return l.buf[l.pos], true
	}
	return l.peekMore()
}

func (l *lexer) peekMore() (byte, bool) {
	for l.pos >= len(l.buf) {
		if !l.fill() {
			return 0, false
		}
	}
	return l.buf[l.pos], true
}

// fill drops the consumed bytes and reads on.
func (l *lexer) fill() bool {
	if l.r == nil || l.rerr != nil {
		return false
	}
	if l.start >= 0 && l.pos-l.start > l.limit {
		l.start = -1
	}
	keep := l.pos
	if l.start >= 0 {
		keep = l.start
		l.start = 0
	}
	if keep > 0 {
		l.drop(keep)
	}
	n := len(l.buf)
	if cap(l.buf)-n < readSize {
		grown := make([]byte, n, 2*cap(l.buf)+readSize)
		copy(grown, l.buf)
		l.buf = grown
	}
	m, err := l.r.Read(l.buf[n : n+readSize])
	l.buf = l.buf[:n+m]
	l.rerr = err
	return m > 0 || err == nil
}

// drop forgets the first n bytes, but for the lines in them.
func (l *lexer) drop(n int) {
	gone := l.buf[:n]
	if n := bytes.Count(gone, []byte{'\n'}); n > 0 { // counting is fast where there are none
		l.lines += n
		l.line = l.base + int64(bytes.LastIndexByte(gone, '\n')) + 1
	}
	l.base += int64(n)
	l.pos -= n
	l.buf = l.buf[:copy(l.buf, l.buf[n:])]
}

// fail is the error for the byte at pos, or for what the reader failed with.
func (l *lexer) fail(format string, args ...any) error {
	if l.rerr != nil && !errors.Is(l.rerr, io.EOF) {
		return fmt.Errorf("%s: %w", l.file, l.rerr)
	}
	seen := l.buf[:l.pos]
	line, offset := l.line, l.base+int64(l.pos)
	if i := bytes.LastIndexByte(seen, '\n'); i >= 0 {
		line = l.base + int64(i) + 1
	}
	return &SyntaxError{
		File: l.file, Offset: offset, Reason: fmt.Sprintf(format, args...),
		Line:   l.lines + bytes.Count(seen, []byte{'\n'}) + 1,
		Column: int(offset-line) + 1,
	}
}

// unexpected is the error for the next byte where something else was due.
func (l *lexer) unexpected(due string) error {
	c, ok := l.peek()
	if !ok {
		return l.fail("unexpected end of JSON, %s is due", due)
	}
	if c < 0x20 || c >= 0x7f {
		return l.fail("unexpected byte 0x%02x, %s is due", c, due)
	}
	return l.fail("unexpected %q, %s is due", c, due)
}

// space skips white space and gives the next byte, 0 at the end. No JSON token begins with 0.
func (l *lexer) space() byte {
	if l.pos < len(l.buf) && l.buf[l.pos] > ' ' {
		return l.buf[l.pos]
	}
	for {
		c, ok := l.peek()
		if !ok {
			return 0
		}
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		l.pos++
	}
}

// mark skips a byte order mark at the beginning of a document.
func (l *lexer) mark() error {
	for i, c := range []byte("\xef\xbb\xbf") {
		b, ok := l.peek()
		if i == 0 && ok && (b == 0xfe || b == 0xff) {
			return l.fail("the text is UTF-16, not UTF-8")
		}
		if !ok || b != c {
			if i == 0 {
				return nil
			}
			return l.unexpected("a byte order mark")
		}
		l.pos++
	}
	return nil
}

// end makes sure that nothing follows the document.
func (l *lexer) end() error {
	if c := l.space(); c != 0 {
		return l.unexpected("the end of the document")
	}
	if _, ok := l.peek(); ok || (l.rerr != nil && !errors.Is(l.rerr, io.EOF)) {
		return l.unexpected("the end of the document")
	}
	return nil
}

// keep checks the next value and gives its bytes, which are borrowed until the lexer moves
// on. They are nil if the value exceeds the limit.
func (l *lexer) keep() ([]byte, error) {
	l.space()
	l.start = l.pos
	err := l.value()
	from := l.start
	l.start = -1
	if err != nil || from < 0 || l.pos-from > l.limit {
		return nil, err
	}
	return l.buf[from:l.pos], nil
}

// value checks the next value.
func (l *lexer) value() error {
	switch c := l.space(); {
	case c == '{':
		return l.object(nil)
	case c == '[':
		return l.array(nil)
	case c == '"':
		return l.text()
	case c == '-' || isDigit(c):
		return l.number()
	case c == 't':
		return l.literal("true")
	case c == 'f':
		return l.literal("false")
	case c == 'n':
		return l.literal("null")
	}
	return l.unexpected("a JSON value")
}
