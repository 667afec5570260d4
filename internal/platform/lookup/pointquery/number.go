package pointquery

import (
	"math"
	"strconv"
)

// exactDigits is the number of decimal digits that every float64 preserves: a number of at most so
// many digits is the shortest text of its nearest float64.
const exactDigits = 15

// powers holds the powers of ten by which an integer of exactDigits can be divided without a second
// rounding, because both are float64s.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number reads a number and writes the shortest text of its float64.
func (p *pass) number() (float64, bool) {
	p.peek()
	begin := p.at
	v, exact, ok := p.float()
	switch {
	case !ok:
		return 0, false
	case exact:
		p.out = append(p.out, p.text[begin:p.at]...)
	default:
		p.out = appendFloat(p.out, v)
	}
	return v, true
}

// float reads a number. exact reports that its text is the shortest text of its float64.
func (p *pass) float() (v float64, exact, ok bool) {
	if c := p.peek(); c != '-' && !isDigit(c) {
		return 0, false, false
	}
	begin := p.at
	if v, exact = p.decimal(); exact {
		return v, true, true
	}
	p.at = begin
	if !p.scan() {
		return 0, false, false
	}
	v, err := strconv.ParseFloat(string(p.text[begin:p.at]), 64)
	return v, false, err == nil
}

// decimal reads a number whose text is the shortest one of its float64: few digits, no exponent, no
// zero at the end of its fraction, not too small. It returns false for all others, including
// malformed ones.
func (p *pass) decimal() (v float64, exact bool) {
	text := p.text[p.at:]
	i := 0
	negative := text[0] == '-'
	if negative {
		i++
	}
	first := i
	var n uint64
	for ; i < len(text) && isDigit(text[i]); i++ {
		n = n*10 + uint64(text[i]-'0') // not used beyond exactDigits
	}
	digits := i - first
	if digits == 0 || digits > 1 && text[first] == '0' {
		return 0, false
	}
	fraction := 0
	if i < len(text) && text[i] == '.' {
		i++
		point := i
		for ; i < len(text) && isDigit(text[i]); i++ {
			n = n*10 + uint64(text[i]-'0')
		}
		fraction = i - point
		if fraction == 0 || text[i-1] == '0' {
			return 0, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') || digits+fraction > exactDigits {
		return 0, false
	}
	v = float64(n) / powers[fraction]
	if n == 0 && (negative || fraction > 0) || n != 0 && v < 1e-6 {
		return 0, false
	}
	if negative {
		v = -v
	}
	p.at += i
	return v, true
}

// scan skips a number by the grammar of JSON, RFC 8259 section 6.
func (p *pass) scan() bool {
	if p.text[p.at] == '-' {
		p.at++
	}
	zero := p.at < len(p.text) && p.text[p.at] == '0'
	if n := p.digits(); n == 0 || zero && n > 1 {
		return false
	}
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		if p.digits() == 0 {
			return false
		}
	}
	if p.at < len(p.text) && p.text[p.at]|0x20 == 'e' {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		return p.digits() > 0
	}
	return true
}

func (p *pass) digits() (n int) {
	for ; p.at < len(p.text) && isDigit(p.text[p.at]); p.at++ {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// appendFloat appends a finite number as encoding/json does: shortest, in e-notation below 1e-6 and
// from 1e21 on, "e-9" rather than "e-09".
func appendFloat(b []byte, v float64) []byte {
	abs := math.Abs(v)
	if abs == 0 || 1e-6 <= abs && abs < 1e21 {
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}
