package natsconf

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// end is what peek returns behind the last byte. No text has this byte: a file with a NUL byte is
// refused.
const end = 0

// source is the text of one file, which knows the lines of its offsets.
type source struct {
	name  string
	text  string
	lines []int // offsets of the first byte of each line
}

func newSource(name, text string) *source {
	s := &source{name: name, text: text, lines: []int{0}}
	for at, c := range []byte(text) {
		if c == '\n' {
			s.lines = append(s.lines, at+1)
		}
	}
	return s
}

func (s *source) pos(at int) Pos {
	line := sort.SearchInts(s.lines, at+1) // the first line that begins behind at
	return Pos{File: s.name, Line: line, Col: at - s.lines[line-1] + 1}
}

func isBlank(c byte) bool     { return c == ' ' || c == '\t' }
func isNewline(c byte) bool   { return c == '\n' || c == '\r' }
func isSpace(c byte) bool     { return isBlank(c) || isNewline(c) || c == '\v' || c == '\f' }
func isSeparator(c byte) bool { return c == '=' || c == ':' }
func isDigit(c byte) bool     { return '0' <= c && c <= '9' }

// endsBare tells where a bare string or a number ends.
func endsBare(c byte) bool {
	return c == end || isNewline(c) || isBlank(c) || c == ';' || c == ',' || c == ']' || c == '}'
}

func (p *parser) peek() byte { return p.peekAt(p.at) }

func (p *parser) peekAt(at int) byte {
	if at < len(p.src.text) {
		return p.src.text[at]
	}
	return end
}

// rune is the character at p.at, for messages.
func (p *parser) rune() rune {
	r, _ := utf8.DecodeRuneInString(p.src.text[p.at:])
	return r
}

// skip passes space of a kind, and comments up to the end of their lines.
func (p *parser) skip(space func(byte) bool) {
	for {
		p.skipOnly(space)
		rest := p.src.text[p.at:]
		if !strings.HasPrefix(rest, "#") && !strings.HasPrefix(rest, "//") {
			return
		}
		p.skipOnly(func(c byte) bool { return !isNewline(c) })
	}
}

func (p *parser) skipOnly(class func(byte) bool) {
	for p.at < len(p.src.text) && class(p.src.text[p.at]) {
		p.at++
	}
}

// until reads up to a quote and passes it. The opening one has been read.
func (p *parser) until(quote byte) (string, error) {
	start := p.at
	length := strings.IndexByte(p.src.text[start:], quote)
	if length < 0 {
		return "", p.errorf(start-1, "this quote is not closed")
	}
	p.at = start + length + 1
	return p.src.text[start : start+length], nil
}

func (p *parser) errorf(at int, format string, args ...any) error {
	return &Error{Pos: p.src.pos(at), Text: fmt.Sprintf(format, args...)}
}

func (p *parser) limit(at int, what string) error {
	return &Error{Pos: p.src.pos(at), Text: ErrLimit.Error() + ": " + what, Err: ErrLimit}
}
