package tunnel

import (
	"bytes"
	"strings"
)

// field is one field of a head; name and value are borrowed, the value without the
// white space around it.
type field struct {
	name, value []byte
	known       knownField
}

// knownField says which of the fields it is that mean something to a tunnel.
type knownField uint8

const (
	otherField knownField = iota
	fieldHost
	fieldContentLength
	fieldTransferEncoding
	fieldConnection
	fieldKeepAlive
	fieldProxyConnection
	fieldProxyAuthenticate
	fieldProxyAuthorization
	fieldTE
	fieldUpgrade
	fieldTrailer
	fieldExpect
)

// fieldNames are the names of the known fields in lower case.
var fieldNames = [...]string{
	fieldHost:               "host",
	fieldContentLength:      "content-length",
	fieldTransferEncoding:   "transfer-encoding",
	fieldConnection:         "connection",
	fieldKeepAlive:          "keep-alive",
	fieldProxyConnection:    "proxy-connection",
	fieldProxyAuthenticate:  "proxy-authenticate",
	fieldProxyAuthorization: "proxy-authorization",
	fieldTE:                 "te",
	fieldUpgrade:            "upgrade",
	fieldTrailer:            "trailer",
	fieldExpect:             "expect",
}

// fieldsByLength lists the known fields by the length of their names: few names have
// one of these lengths, and most fields need no comparison at all.
var fieldsByLength = func() (table [20][]knownField) {
	for f, name := range fieldNames {
		if name != "" {
			table[len(name)] = append(table[len(name)], knownField(f))
		}
	}
	return table
}()

// lookupField says which known field a name is, in any case.
func lookupField[T string | []byte](name T) knownField {
	if len(name) >= len(fieldsByLength) {
		return otherField
	}
	for _, f := range fieldsByLength[len(name)] {
		if equalFold(name, fieldNames[f]) {
			return f
		}
	}
	return otherField
}

// hopByHop says whether a field is of one connection only, RFC 9110 section 7.6.1,
// whoever has named it.
func (f knownField) hopByHop() bool {
	switch f {
	case fieldConnection, fieldKeepAlive, fieldProxyConnection, fieldProxyAuthenticate,
		fieldProxyAuthorization, fieldTE, fieldTransferEncoding, fieldUpgrade:
		return true
	}
	return false
}

// equalFold compares ASCII text with one in lower case.
func equalFold[T string | []byte](b T, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(b) {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// tokens calls fn for each element of a list, RFC 9110 section 5.6.1, in lower case.
func tokens(list []byte, fn func(token string)) {
	for len(list) > 0 {
		item := list
		if i := bytes.IndexByte(list, ','); i >= 0 {
			item, list = list[:i], list[i+1:]
		} else {
			list = nil
		}
		if item = trim(item); len(item) > 0 {
			fn(strings.ToLower(string(item)))
		}
	}
}

// byteClass says where a byte may occur.
type byteClass uint8

const (
	tokenByte  byteClass = 1 << iota // RFC 9110 section 5.6.2
	valueByte                        // of a value: visible, space, HTAB, obs-text
	targetByte                       // of a request target: visible ASCII but #
)

var byteClasses = func() (table [256]byteClass) {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			table[c] = tokenByte | valueByte | targetByte
		case c == ' ', c == '\t', c >= 0x80:
			table[c] = valueByte
		case 0x21 <= c && c <= 0x7E:
			table[c] = valueByte | targetByte
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		table[c] |= tokenByte
	}
	table['#'] &^= targetByte
	return table
}()

// isAll says whether every byte of b is of the class; nothing is.
func isAll[T string | []byte](b T, class byteClass) bool {
	for i := range len(b) {
		if byteClasses[b[i]]&class == 0 {
			return false
		}
	}
	return true
}
