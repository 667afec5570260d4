package geojson

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// number gives the float64 that is nearest to a JSON number, ties to even, as strconv does:
// infinite if there is none. The syntax has been checked.
func number(text []byte) float64 {
	if v, n := decimal(text); n == len(text) {
		return v
	}
	v, _ := strconv.ParseFloat(string(text), 64)
	return v
}

// maxDigits of a decimal are below 2^64.
const maxDigits = 19

// decimal reads the number at the beginning of text if it is one of at most 19 digits without
// an exponent, as coordinates are, and gives its length; 0 if it is anything else. The value is
// exactly that of strconv. What follows the number is not looked at.
//
// hot: BenchmarkRead.
func decimal(text []byte) (v float64, length int) {
	i := 0
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		i++
	}
	m, whole := leadingDigits(text[i:])
	if whole == 0 || whole > maxDigits || whole > 1 && text[i] == '0' {
		return 0, 0
	}
	i += whole
	places := 0
	if i < len(text) && text[i] == '.' {
		i++
		var f uint64
		f, places = leadingDigits(text[i:])
		if places == 0 || whole+places > maxDigits {
			return 0, 0
		}
		i += places
		m = m*powersOfTen[places] + f
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		return 0, 0
	}
	v = quotient(m, places)
	if negative {
		v = -v
	}
	return v, i
}

// leadingDigits gives the number that the digits at the beginning of text make up, and how many
// these are: with more than maxDigits the number is wrong.
func leadingDigits(text []byte) (m uint64, n int) {
	for len(text)-n >= 8 {
		word := binary.LittleEndian.Uint64(text[n:])
		k := digitsOf(word)
		if k == 0 {
			return m, n
		}
		m, n = m*powersOfTen[k]+valueOf(word<<(64-8*k)), n+k
		if k < 8 || n > maxDigits {
			return m, n
		}
	}
	for n < len(text) && isDigit(text[n]) {
		m, n = m*10+uint64(text[n]-'0'), n+1
	}
	return m, n
}

// Eight bytes at once, the first of the text lowest.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
)

// digitsOf counts the digits before the first byte that is none.
func digitsOf(word uint64) int {
	x := word ^ '0'*eachByte                         // digits become 0 to 9
	over := (x &^ highBits) + (0x80-10)*eachByte | x // the high bit is set of what is 10 or more
	return bits.TrailingZeros64(over&highBits) / 8
}

// valueOf is the number that eight digits make up. A zero byte counts as the digit 0. Each step
// joins neighbours: to two digits in each 16 bits, then four in 32.
func valueOf(word uint64) uint64 {
	w := word & (0x0f * eachByte)
	w = (w*10 + w>>8) & 0x00ff00ff00ff00ff
	w = (w*100 + w>>16) & 0x0000ffff0000ffff
	return (w*10_000 + w>>32) & 0xffffffff
}

var powersOfTen = func() (p [maxDigits + 1]uint64) {
	p[0] = 1
	for i := range maxDigits {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// quotient is the float64 nearest to m / 10^places, ties to even, for up to 19 places.
func quotient(m uint64, places int) float64 {
	if m < 1<<53 {
		return float64(m) / float64(powersOfTen[places]) // both are exact, so this rounds once
	}
	// Shifted to 64 bits each, the quotient of the two is between 1/2 and 2. So q, that times
	// 2^63, has 63 or 64 bits, of which float64 drops at least ten; the lowest may therefore stand
	// for the remainder, and the conversion rounds the exact quotient.
	d := powersOfTen[places]
	up, down := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
	m, d = m<<up, d<<down
	q, rest := bits.Div64(m>>1, m<<63, d)
	if rest != 0 {
		q |= 1
	}
	return float64(q) * powerOfTwo(down-up-63)
}

// powerOfTwo is 2^e for a normal result.
func powerOfTwo(e int) float64 { return math.Float64frombits(uint64(1023+e) << 52) }
