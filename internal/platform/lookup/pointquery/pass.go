package pointquery

import "unicode/utf8"

// pass reads a JSON text once and writes its values. Its methods return false, or set broken, if
// the text is malformed or too complex; the pass is over then.
type pass struct {
	text   []byte
	at     int // bytes read so far
	broken bool
	out    []byte
}

// peek skips white space and returns the byte after it, 0 at the end.
func (p *pass) peek() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and then c, if it is next.
func (p *pass) take(c byte) bool {
	if p.peek() != c || p.at == len(p.text) {
		return false
	}
	p.at++
	return true
}

// literal skips white space and then the text s.
func (p *pass) literal(s string) bool {
	if p.peek() == 0 || len(p.text)-p.at < len(s) || string(p.text[p.at:p.at+len(s)]) != s {
		return false
	}
	p.at += len(s)
	return true
}

// ended reports whether only white space is left.
func (p *pass) ended() bool { return p.peek() == 0 && p.at == len(p.text) }

// open begins an object or array, and next continues after an element of it. Both report whether
// another element follows; otherwise they have read the closing bracket.
func (p *pass) open(bracket byte) bool {
	if !p.take(bracket) {
		p.broken = true
		return false
	}
	return !p.take(bracket + 2) // '}' is '{' + 2, and ']' is '[' + 2
}

func (p *pass) next(end byte) bool {
	if p.take(',') {
		return true
	}
	p.broken = p.broken || !p.take(end)
	return false
}

// key reads the name of a member and its colon. The name must be printable ASCII without escapes.
func (p *pass) key() (name []byte, ok bool) {
	if !p.take('"') {
		return nil, false
	}
	begin := p.at
	p.plain()
	name = p.text[begin:p.at]
	return name, p.take('"') && p.take(':')
}

// isPlain marks the bytes that stand for themselves within a string.
var isPlain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = true
	}
	for _, c := range `"\<>&` {
		t[c] = false
	}
	return t
}()

// plain skips bytes that stand for themselves.
func (p *pass) plain() {
	i := p.at
	for i < len(p.text) && isPlain[p.text[i]] {
		i++
	}
	p.at = i
}

// value writes any value, with at most so many levels of objects and arrays.
func (p *pass) value(levels int) bool {
	switch c := p.peek(); c {
	case '"':
		return p.string()
	case '{':
		return levels > 0 && p.object(levels-1)
	case '[':
		return levels > 0 && p.array(levels-1)
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	}
	_, ok := p.number()
	return ok
}

func (p *pass) word(s string) bool {
	p.out = append(p.out, s...)
	return p.literal(s)
}

func (p *pass) array(levels int) bool {
	p.out = append(p.out, '[')
	for more := p.open('['); more; {
		if !p.value(levels) {
			return false
		}
		if more = p.next(']'); more {
			p.out = append(p.out, ',')
		}
	}
	p.out = append(p.out, ']')
	return !p.broken
}

// string writes a string. UTF-8 is copied; it fails for sequences that encoding/json would replace
// or escape.
func (p *pass) string() bool {
	p.at++ // the quotation mark, which the caller has checked
	p.out = append(p.out, '"')
	for {
		begin := p.at
		p.plain()
		p.out = append(p.out, p.text[begin:p.at]...)
		if p.at == len(p.text) {
			return false
		}
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			p.out = append(p.out, '"')
			return true
		case c == '<' || c == '>' || c == '&':
			p.at++
			p.out = append(p.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		case c < utf8.RuneSelf: // a backslash, or a control character
			return false
		default:
			r, n := utf8.DecodeRune(p.text[p.at:])
			if r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
				return false
			}
			p.out = append(p.out, p.text[p.at:p.at+n]...)
			p.at += n
		}
	}
}

const hex = "0123456789abcdef"

// skip skips any value.
func (p *pass) skip(levels int) bool {
	kept := p.out
	p.out = p.out[len(p.out):]
	ok := p.value(levels)
	p.out = kept
	return ok
}
