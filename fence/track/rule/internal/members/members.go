// Package members walks over the members of a JSON object without decoding their values, and
// without allocation. It is for objects that most often were checked before: it never fails, but
// stops at the first error.
package members

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Of yields the members of an object, up to the first error. A name is decoded, a value is its text
// without the space around it.
func Of(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		s := scanner{object}
		s.members(yield)
	}
}

// Unquote returns the text of a JSON string. It shares memory with raw if raw has no escapes.
func Unquote(raw []byte) (text []byte, ok bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return []byte(s), err == nil
}

type scanner struct{ rest []byte }

func (s *scanner) members(yield func(name, value []byte) bool) {
	if !s.skip('{') {
		return
	}
	for {
		quoted, ok := s.quoted()
		if !ok || !s.skip(':') {
			return
		}
		name, ok := Unquote(quoted)
		if !ok {
			return
		}
		value, ok := s.value()
		if !ok || !yield(name, value) || !s.skip(',') {
			return
		}
	}
}

// space skips white space.
func (s *scanner) space() {
	for len(s.rest) > 0 && isSpace(s.rest[0]) {
		s.rest = s.rest[1:]
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skip skips white space, then c, and reports whether it was there.
func (s *scanner) skip(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// take returns the first n bytes.
func (s *scanner) take(n int) []byte {
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

// quoted returns a string, with its quotes.
func (s *scanner) quoted() ([]byte, bool) {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	n := quotedLen(s.rest)
	if n == 0 {
		return nil, false
	}
	return s.take(n), true
}

// quotedLen returns the length of the string at the start of b, or 0 if it does not end.
func quotedLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// value returns the value at the start.
func (s *scanner) value() ([]byte, bool) {
	s.space()
	if len(s.rest) == 0 {
		return nil, false
	}
	n := 0
	switch s.rest[0] {
	case '"':
		n = quotedLen(s.rest)
	case '{', '[':
		n = nestedLen(s.rest)
	default:
		n = plainLen(s.rest)
	}
	return s.take(n), n > 0
}

// nestedLen returns the length of the list or object at the start of b, or 0 if it does not end.
func nestedLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := quotedLen(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// plainLen returns the length of the number or word at the start of b.
func plainLen(b []byte) int {
	for i, c := range b {
		if c == ',' || c == '}' || c == ']' || isSpace(c) {
			return i
		}
	}
	return len(b)
}
