package geojson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// object calls member for each member, which consumes its value. With nil it only checks them.
func (l *lexer) object(member func(name string) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	if l.space() == '}' {
		return l.leave()
	}
	for {
		if err := l.member(member); err != nil {
			return err
		}
		switch l.space() {
		case ',':
			l.pos++
		case '}':
			return l.leave()
		default:
			return l.unexpected("a comma or the end of the object")
		}
	}
}

func (l *lexer) member(member func(name string) error) error {
	if l.space() != '"' {
		return l.unexpected("a member name in quotes")
	}
	name, err := "", error(nil)
	if member == nil {
		err = l.text()
	} else {
		var raw []byte
		raw, err = l.keep()
		name = string(unquote(raw))
	}
	if err != nil {
		return err
	}
	if l.space() != ':' {
		return l.unexpected("a colon")
	}
	l.pos++
	if member == nil {
		return l.value()
	}
	return member(name)
}

// unquote is the text of a JSON string that is known to be valid. It is borrowed.
func unquote(raw []byte) []byte {
	if n := len(raw); n >= 2 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw[1 : n-1]
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return []byte(s)
}

// array calls element for each element with the next byte at it or at white space before it;
// element consumes it. With nil it only checks them.
func (l *lexer) array(element func() error) error {
	if err := l.enter(); err != nil {
		return err
	}
	if l.space() == ']' {
		return l.leave()
	}
	for {
		if element == nil {
			l.positions()
		}
		if err := l.element(element); err != nil {
			return err
		}
		switch l.space() {
		case ',':
			l.pos++
		case ']':
			return l.leave()
		default:
			return l.unexpected("a comma or the end of the array")
		}
	}
}

func (l *lexer) element(element func() error) error {
	if element == nil {
		return l.value()
	}
	return element()
}

// positions steps over the elements of an array that are [lon,lat], as most of a document is,
// as far as they are read already: each with the comma after it, so that an element is due next.
//
// hot: BenchmarkRead.
func (l *lexer) positions() {
	if l.depth == maxDepth {
		return
	}
	buf := l.buf
	for pos := l.pos; ; l.pos = pos {
		if pos >= len(buf) || buf[pos] != '[' {
			return
		}
		if pos = plainNumber(buf, pos+1); pos >= len(buf) || buf[pos] != ',' {
			return
		}
		pos = plainNumber(buf, pos+1)
		if pos+1 >= len(buf) || buf[pos] != ']' || buf[pos+1] != ',' {
			return
		}
		pos += 2
	}
}

// plainNumber gives the end of the number at pos; if there is none, or one with an exponent, a
// place where neither a comma nor a bracket is.
func plainNumber(buf []byte, pos int) int {
	if pos < len(buf) && buf[pos] == '-' {
		pos++
	}
	end := skipDigits(buf, pos)
	if end == pos || end-pos > 1 && buf[pos] == '0' {
		return len(buf)
	}
	if end < len(buf) && buf[end] == '.' {
		pos = end + 1
		if end = skipDigits(buf, pos); end == pos {
			return len(buf)
		}
	}
	return end
}

// skipDigits gives the place of the first byte from pos on that is no digit.
func skipDigits(buf []byte, pos int) int {
	for len(buf)-pos >= 8 {
		k := digitsOf(binary.LittleEndian.Uint64(buf[pos:]))
		if pos += k; k < 8 {
			return pos
		}
	}
	for pos < len(buf) && isDigit(buf[pos]) {
		pos++
	}
	return pos
}

func (l *lexer) enter() error {
	if l.depth++; l.depth > maxDepth {
		return l.fail("nested deeper than %d", maxDepth)
	}
	l.pos++
	return nil
}

func (l *lexer) leave() error {
	l.depth--
	l.pos++
	return nil
}

// text checks a string. Invalid UTF-8 passes, as it does in encoding/json.
func (l *lexer) text() error {
	l.pos++
	for {
		for l.pos < len(l.buf) && isPlain(l.buf[l.pos]) {
			l.pos++
		}
		c, ok := l.peek()
		switch {
		case !ok || c < 0x20:
			return l.unexpected("the end of the string")
		case c == '"':
			l.pos++
			return nil
		case c == '\\':
			l.pos++
			if err := l.escape(); err != nil {
				return err
			}
		default:
			l.pos++
		}
	}
}

// isPlain reports whether the byte stands for itself in a string.
func isPlain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' }

func (l *lexer) escape() error {
	c, ok := l.peek()
	if !ok {
		return l.unexpected("an escape sequence")
	}
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		l.pos++
		return nil
	case 'u':
		l.pos++
		for range 4 {
			c, ok := l.peek()
			if !ok || !(isDigit(c) || ('a' <= c|0x20 && c|0x20 <= 'f')) {
				return l.unexpected("a hexadecimal digit")
			}
			l.pos++
		}
		return nil
	}
	return l.unexpected("an escape sequence")
}

// number checks a number: no leading zeros, no plus sign, a digit on both sides of the point.
func (l *lexer) number() error {
	if c, _ := l.peek(); c == '-' {
		l.pos++
	}
	if c, _ := l.peek(); c == '0' {
		l.pos++
	} else if err := l.digits(); err != nil {
		return err
	}
	if c, _ := l.peek(); c == '.' {
		l.pos++
		if err := l.digits(); err != nil {
			return err
		}
	}
	if c, _ := l.peek(); c|0x20 == 'e' {
		l.pos++
		if c, _ := l.peek(); c == '+' || c == '-' {
			l.pos++
		}
		return l.digits()
	}
	return nil
}

func (l *lexer) digits() error {
	c, _ := l.peek()
	if !isDigit(c) {
		return l.unexpected("a digit")
	}
	for isDigit(c) {
		l.pos = skipDigits(l.buf, l.pos)
		c, _ = l.peek()
	}
	return nil
}

func (l *lexer) literal(word string) error {
	for i := range len(word) {
		if c, _ := l.peek(); c != word[i] {
			return l.unexpected(word)
		}
		l.pos++
	}
	return nil
}
