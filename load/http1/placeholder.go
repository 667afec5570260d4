package http1

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A placeholder marks a part of a template that differs between requests. Its value depends only on
// the seed of the run and the number of the request, so that it is the same for any number of
// threads.
type placeholder interface {
	// put appends its value for request number k. draw is random, and its own.
	put(dst []byte, k int64, draw uint64) []byte
}

// counter is {{seq}}: the request's number.
type counter struct{}

func (counter) put(dst []byte, k int64, _ uint64) []byte { return strconv.AppendInt(dst, k, 10) }

// number is {{rand a b}}: a number from a to b.
type number struct {
	from int64
	span uint64 // how many there are; 0 = all of 64 bits
}

func (n number) put(dst []byte, _ int64, draw uint64) []byte {
	if n.span > 0 {
		draw %= n.span // whose bias is below span / 2^64
	}
	return strconv.AppendInt(dst, n.from+int64(draw), 10)
}

// unique is {{uuid}}: a random UUID, RFC 9562 version 4.
type unique struct{}

func (unique) put(dst []byte, _ int64, draw uint64) []byte {
	var id [16]byte
	for i := range 8 {
		id[i] = byte(draw >> (8 * i))
	}
	draw = mix(draw)
	for i := range 8 {
		id[8+i] = byte(draw >> (8 * i))
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	at := len(dst)
	dst = append(dst, "00000000-0000-0000-0000-000000000000"...)
	for i, from := range [...]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
		hex.Encode(dst[at+from:], id[i:i+1])
	}
	return dst
}

// line is {{line file}}: line k mod n of a file.
type line [][]byte

func (l line) put(dst []byte, k int64, _ uint64) []byte {
	return append(dst, l[uint64(k)%uint64(len(l))]...)
}

// mix is the step of SplitMix64 (G. Steele, D. Lea, C. Flood): neighbours come out far
// apart.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// parsePlaceholder parses the text between the braces. lines returns the lines of a file.
func parsePlaceholder(text string, lines func(name string) ([][]byte, error)) (placeholder, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 1 && words[0] == "seq":
		return counter{}, nil
	case len(words) == 1 && words[0] == "uuid":
		return unique{}, nil
	case len(words) == 3 && words[0] == "rand":
		from, err1 := strconv.ParseInt(words[1], 10, 64)
		to, err2 := strconv.ParseInt(words[2], 10, 64)
		if err1 != nil || err2 != nil || from > to {
			return nil, fmt.Errorf("{{%s}} is no {{rand FROM TO}} of two numbers", text)
		}
		return number{from, uint64(to) - uint64(from) + 1}, nil
	case len(words) == 2 && words[0] == "line":
		l, err := lines(words[1])
		return line(l), err
	}
	return nil, fmt.Errorf("{{%s}} is none of {{seq}}, {{rand FROM TO}}, {{uuid}} and {{line FILE}}", shown(text))
}
