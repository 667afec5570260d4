package natsconf

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// dateForm is the only form of a date.
const dateForm = "2006-01-02T15:04:05Z"

// powers are the suffixes of integers: the n-th stands for 1000 to the n, and with
// a "b", "i" or "ib" behind it for 1024 to the n.
const powers = "kmgtpe"

// number reads a value that begins with a digit or a minus: an integer, a float, a date, an address
// or, if it is none of them, a string.
func (p *parser) number() (*Node, error) {
	start := p.at
	if p.peek() == '-' {
		if p.at++; !isDigit(p.peek()) {
			return nil, p.errorf(start, "'-' without a digit: add one, or quote the string")
		}
	}
	p.skipOnly(isDigit)
	digits := p.src.text[start:p.at]
	switch c := p.peek(); {
	case endsBare(c):
		return p.integer(start, digits, "")
	case c == '-':
		return p.date(start)
	case c == '.':
		return p.float(start)
	case strings.IndexByte(powers, c|0x20) >= 0:
		suffixed := p.at
		p.at++
		p.skipOnly(func(c byte) bool { return c|0x20 == 'b' || c|0x20 == 'i' })
		if endsBare(p.peek()) {
			return p.integer(start, digits, strings.ToLower(p.src.text[suffixed:p.at]))
		}
	}
	return p.bare(start)
}

func (p *parser) integer(start int, digits, suffix string) (*Node, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, p.errorf(start, "integer %s is out of range", digits)
	}
	if suffix != "" {
		base := int64(1000)
		switch suffix[1:] {
		case "":
		case "b", "i", "ib":
			base = 1024
		default:
			return nil, p.errorf(start, "unknown suffix %q of an integer", suffix)
		}
		for range strings.IndexByte(powers, suffix[0]) + 1 {
			if n > math.MaxInt64/base || n < math.MinInt64/base {
				return nil, p.errorf(start, "integer %s%s is out of range", digits, suffix)
			}
			n *= base
		}
	}
	return &Node{Kind: Integer, Pos: p.src.pos(start), Int: n, weight: 1}, nil
}

// float reads on behind the integer part. A second point makes it an address.
func (p *parser) float(start int) (*Node, error) {
	p.at++
	if !isDigit(p.peek()) {
		return nil, p.errorf(start, "a number has a digit behind its '.'")
	}
	p.skipOnly(isDigit)
	if p.peek() == '.' {
		p.skipOnly(func(c byte) bool { return isDigit(c) || c == '.' || c == ':' || c == '-' })
		return p.text(start, p.src.text[start:p.at]), nil
	}
	f, err := strconv.ParseFloat(p.src.text[start:p.at], 64)
	if err != nil {
		return nil, p.errorf(start, "float %s is out of range", p.src.text[start:p.at])
	}
	return &Node{Kind: Float, Pos: p.src.pos(start), Float: f, weight: 1}, nil
}

func (p *parser) date(start int) (*Node, error) {
	text := p.src.text[start:min(start+len(dateForm), len(p.src.text))]
	t, err := time.Parse(dateForm, text)
	if err != nil {
		return nil, p.errorf(start, "%q is no date: use the form %s, or quotes for a string", strings.Fields(text)[0], dateForm)
	}
	p.at = start + len(dateForm)
	return &Node{Kind: Time, Pos: p.src.pos(start), Time: t, weight: 1}, nil
}
