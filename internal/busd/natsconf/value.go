package natsconf

import (
	"encoding/hex"
	"strings"
)

// value reads whatever stands behind a key or in an array.
func (p *parser) value() (*Node, error) {
	start := p.at
	switch c := p.peek(); {
	case c == '[':
		return p.array()
	case c == '{':
		return p.mapping()
	case c == '\'':
		p.at++
		text, err := p.until(c)
		return p.text(start, text), err
	case c == '"':
		return p.quoted()
	case c == '(':
		return p.block()
	case isDigit(c), c == '-':
		return p.number()
	case c == '.':
		return nil, p.errorf(start, "a number begins with a digit")
	case endsBare(c):
		return nil, p.errorf(start, "a value is missing here")
	}
	return p.bare(start)
}

func (p *parser) text(start int, text string) *Node {
	return &Node{Kind: String, Pos: p.src.pos(start), Text: text, weight: 1}
}

func (p *parser) mapping() (*Node, error) {
	opened := p.at
	p.at++
	m := &Node{Kind: Map, Pos: p.src.pos(opened), weight: 1}
	p.scopes = append(p.scopes, m)
	defer func() { p.scopes = p.scopes[:len(p.scopes)-1] }()
	return m, p.entries(m, opened, true)
}

// array reads values with a comma or a new line between them.
func (p *parser) array() (*Node, error) {
	opened := p.at
	if err := p.enter(opened); err != nil {
		return nil, err
	}
	defer p.leave()
	p.at++
	list := &Node{Kind: Array, Pos: p.src.pos(opened), weight: 1}
	for {
		p.skip(isSpace)
		switch p.peek() {
		case end:
			return nil, p.errorf(opened, "this '[' is not closed")
		case ']':
			p.at++
			return list, nil
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, v)
		if err := p.grow(list, v, v.Pos); err != nil {
			return nil, err
		}
		p.skip(isBlank)
		switch c := p.peek(); {
		case c == ',':
			p.at++
		case c == end, c == ']', isNewline(c):
		default:
			return nil, p.errorf(p.at, "unexpected %q: the values of an array have ',' or a new line between them", p.rune())
		}
	}
}

// block reads from a parenthesis up to one that stands alone on a line. The new
// lines inside belong to the text.
func (p *parser) block() (*Node, error) {
	start := p.at
	p.at++
	for at := p.at; at < len(p.src.text); at++ {
		if c := p.peekAt(at + 1); p.peekAt(at) == ')' && p.peekAt(at-1) == '\n' && (c == end || isNewline(c)) {
			text := p.src.text[p.at:at]
			p.at = at + 1
			return p.text(start, text), nil
		}
	}
	return nil, p.errorf(start, "this '(' is not closed by a ')' alone on a line")
}

// quoted reads a string with escapes.
func (p *parser) quoted() (*Node, error) {
	start := p.at
	p.at++
	var b strings.Builder
	for {
		switch c := p.peek(); c {
		case end:
			return nil, p.errorf(start, "this quote is not closed")
		case '"':
			p.at++
			return p.text(start, b.String()), nil
		case '\\':
			if err := p.escape(&b); err != nil {
				return nil, err
			}
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

var escapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', '"': '"', '\\': '\\'}

func (p *parser) escape(b *strings.Builder) error {
	c := p.peekAt(p.at + 1)
	if plain, ok := escapes[c]; ok {
		b.WriteByte(plain)
		p.at += 2
		return nil
	}
	if c == 'x' && p.at+4 <= len(p.src.text) {
		if plain, err := hex.DecodeString(p.src.text[p.at+2 : p.at+4]); err == nil {
			b.Write(plain)
			p.at += 4
			return nil
		}
	}
	return p.errorf(p.at, `this escape is none of \t, \n, \r, \", \\ and \xHH`)
}

// bare reads a string without quotes, from start on, of which some may have been
// read already: it may turn out to be a boolean or a variable.
func (p *parser) bare(start int) (*Node, error) {
	p.at = start
	var b strings.Builder
	escaped := false
	for c := p.peek(); !endsBare(c); c = p.peek() {
		switch c {
		case '\\':
			escaped = true
			if err := p.escape(&b); err != nil {
				return nil, err
			}
			continue
		case '\'':
			return nil, p.errorf(p.at, "unexpected quote inside a string without quotes")
		}
		b.WriteByte(c)
		p.at++
	}
	text := b.String()
	if escaped {
		return p.text(start, text), nil
	}
	switch strings.ToLower(text) {
	case "true", "yes", "on":
		return &Node{Kind: Bool, Pos: p.src.pos(start), Bool: true, weight: 1}, nil
	case "false", "no", "off":
		return &Node{Kind: Bool, Pos: p.src.pos(start), weight: 1}, nil
	}
	if name, ok := strings.CutPrefix(text, "$"); ok {
		return p.variable(start, name)
	}
	return p.text(start, text), nil
}
