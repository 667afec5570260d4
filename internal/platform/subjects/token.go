// Package subjects writes names as tokens of bus subjects, and reads them. The tokens of an object
// also determine its partition.
package subjects

import "strings"

// NoToken stands in a subject for an empty name.
const NoToken = "_"

const upperHex = "0123456789ABCDEF"

func plain(id string) bool {
	for i := range len(id) {
		if !isTokenByte(id[i]) {
			return false
		}
	}
	return true
}

func isTokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// AppendToken appends an id as one token of a bus subject. Each byte outside A-Z a-z 0-9 _ - is
// written as %XX, the empty id as _, and the id "_" as %5F. So each token stands for one id.
func AppendToken(dst []byte, id string) []byte {
	switch id {
	case "":
		return append(dst, NoToken...)
	case NoToken:
		return append(dst, "%5F"...)
	}
	for i := range len(id) {
		if c := id[i]; isTokenByte(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// ParseToken returns the id of a token. It returns false for an empty token, for _, for an
// unescaped byte that must be escaped, and for an incomplete escape. It accepts escapes of bytes
// that need none, for clients that escape more than AppendToken.
func ParseToken(token string) (string, bool) {
	if token == "" || token == NoToken {
		return "", false
	}
	if plain(token) {
		return token, true
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '%' {
			if i+2 >= len(token) {
				return "", false
			}
			hi, lo := unhex(token[i+1]), unhex(token[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			i += 2
		} else if !isTokenByte(c) {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
