package geojson

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"iter"
	"math/bits"
	"unicode/utf8"
)

// cursor walks JSON that a lexer has found valid, so it checks no syntax.
type cursor struct {
	data []byte
	pos  int
}

// kind skips white space and gives the first byte of the next value: '{', '[', '"', a digit
// or '-', 't', 'f', 'n', or ']' and '}' at the end of the container. It is 0 for no data.
func (c *cursor) kind() byte {
	for c.pos < len(c.data) {
		b := c.data[c.pos]
		if b > ' ' {
			return b
		}
		c.pos++
	}
	return 0
}

// next gives the next value and moves past it.
func (c *cursor) next() []byte {
	c.kind()
	from := c.pos
	for depth := 0; c.pos < len(c.data); {
		switch c.data[c.pos] {
		case '"':
			c.skipText()
			if depth == 0 {
				return c.data[from:c.pos]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return c.data[from:c.pos]
			}
			if depth == 0 {
				c.pos++
				return c.data[from:c.pos]
			}
		case ',', ':', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return c.data[from:c.pos]
			}
		}
		c.pos++
	}
	return c.data[from:c.pos]
}

func (c *cursor) skipText() {
	for c.pos++; c.data[c.pos] != '"'; c.pos++ {
		if c.data[c.pos] == '\\' {
			c.pos++
		}
	}
	c.pos++
}

// more steps to the next element of the array or object that the cursor is in, over a comma;
// it is false past its end. Before the first call, the caller moves past the opening bracket.
func (c *cursor) more() bool {
	switch c.kind() {
	case ',':
		c.pos++
		c.kind()
		return true
	case ']', '}', 0:
		c.pos++
		return false
	}
	return true
}

// name moves past the name of the member that the cursor is at, to its value.
func (c *cursor) name() []byte {
	name := unquote(c.next())
	c.kind()
	c.pos++ // the colon
	c.kind()
	return name
}

// member gives the value of the member that the cursor is at, and moves past it. An array in the
// last member, without strings and objects, ends with the last ']' before the object's '}'. So
// coordinates need not be looked through bracket by bracket.
func (c *cursor) member() []byte {
	if c.pos < len(c.data) && c.data[c.pos] == '[' {
		rest := c.data[c.pos:]
		if end := quoteOrBrace(rest); end < len(rest) && rest[end] == '}' {
			n := bytes.LastIndexByte(rest[:end], ']') + 1
			c.pos += n
			return rest[:n]
		}
	}
	return c.next()
}

// quoteOrBrace gives the place of the first '"', '{' or '}', the length if there is none.
func quoteOrBrace(data []byte) int {
	i := 0
	for ; len(data)-i >= 8; i += 8 {
		word := binary.LittleEndian.Uint64(data[i:])
		if m := zeros(word^'"'*eachByte) | zeros(word^'{'*eachByte) | zeros(word^'}'*eachByte); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(data) && data[i] != '"' && data[i] != '{' && data[i] != '}' {
		i++
	}
	return i
}

// zeros sets the high bit of the first byte of the word that is zero, and maybe of later ones.
func zeros(word uint64) uint64 { return (word - eachByte) &^ word & highBits }

// members yields the names and values of the members of a JSON object, none if the value is
// something else. They are borrowed.
func members(value []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		c := cursor{data: value}
		if c.kind() != '{' {
			return
		}
		c.pos++
		for c.more() {
			if !yield(c.name(), c.member()) {
				return
			}
		}
	}
}

// shape names the type of a JSON value, for messages.
func shape(value []byte) string {
	c := cursor{data: value}
	switch b := c.kind(); b {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case 0, ']':
		return "nothing"
	}
	return "a number"
}

// present gives a copy of the value, nil if it is absent or null. The copy is one line of
// valid UTF-8, as answers are framed by lines and text frames: white space between tokens is
// left out, and bytes that are no UTF-8 become U+FFFD, as encoding/json reads them.
func present(value []byte) []byte {
	if value == nil || string(value) == "null" {
		return nil
	}
	if !utf8.Valid(value) {
		value = []byte(string([]rune(string(value))))
	}
	var line bytes.Buffer
	line.Grow(len(value))
	if json.Compact(&line, value) != nil { // the lexer passes no such value
		return bytes.Clone(value)
	}
	if line.Len() < len(value) {
		return bytes.Clone(line.Bytes()) // without the room of the white space
	}
	return line.Bytes()
}
