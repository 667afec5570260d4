package h1

import (
	"bytes"
	"strings"
)

// Field is one field of a head. The name and the value are borrowed; the value excludes the
// surrounding white space.
type Field struct {
	Name, Value []byte
	Known       KnownField
}

// KnownField identifies the fields that mean something to a tunnel.
type KnownField uint8

// The known fields, and all others.
const (
	OtherField KnownField = iota
	HostField
	ContentLengthField
	TransferEncodingField
	ConnectionField
	KeepAliveField
	ProxyConnectionField
	ProxyAuthenticateField
	ProxyAuthorizationField
	TEField
	UpgradeField
	TrailerField
	ExpectField
)

// fieldNames holds the names of the known fields, in lower case.
var fieldNames = [...]string{
	HostField:               "host",
	ContentLengthField:      "content-length",
	TransferEncodingField:   "transfer-encoding",
	ConnectionField:         "connection",
	KeepAliveField:          "keep-alive",
	ProxyConnectionField:    "proxy-connection",
	ProxyAuthenticateField:  "proxy-authenticate",
	ProxyAuthorizationField: "proxy-authorization",
	TEField:                 "te",
	UpgradeField:            "upgrade",
	TrailerField:            "trailer",
	ExpectField:             "expect",
}

// fieldsByLength lists the known fields by the length of their names. Most fields need no
// comparison, because few known names have the same length.
var fieldsByLength = func() (table [20][]KnownField) {
	for f, name := range fieldNames {
		if name != "" {
			table[len(name)] = append(table[len(name)], KnownField(f))
		}
	}
	return table
}()

// LookupField returns the known field of a name, in upper or lower case.
func LookupField[T string | []byte](name T) KnownField {
	if len(name) >= len(fieldsByLength) {
		return OtherField
	}
	for _, f := range fieldsByLength[len(name)] {
		if EqualFold(name, fieldNames[f]) {
			return f
		}
	}
	return OtherField
}

// HopByHop reports whether a field applies to one connection only, RFC 9110 section 7.6.1, even if
// no field Connection names it.
func (f KnownField) HopByHop() bool {
	switch f {
	case ConnectionField, KeepAliveField, ProxyConnectionField, ProxyAuthenticateField,
		ProxyAuthorizationField, TEField, TransferEncodingField, UpgradeField:
		return true
	}
	return false
}

// EqualFold reports whether the ASCII text b, in upper or lower case, equals lower, which is in
// lower case.
func EqualFold[T string | []byte](b T, lower string) bool {
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

// Tokens calls fn for each element of a list, RFC 9110 section 5.6.1, in lower case.
func Tokens(list []byte, fn func(token string)) {
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

// ByteClass is a set of places where a byte may occur.
type ByteClass uint8

// The classes. They can be combined.
const (
	TokenByte  ByteClass = 1 << iota // of a token, RFC 9110 section 5.6.2
	ValueByte                        // of a value, RFC 9110 section 5.5: visible, space, HTAB, obs-text
	TargetByte                       // of a request target, RFC 9112 section 3.2: visible ASCII except #
)

var byteClasses = func() (table [256]ByteClass) {
	for c := range 256 {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			table[c] = TokenByte | ValueByte | TargetByte
		case c == ' ', c == '\t', c >= 0x80:
			table[c] = ValueByte
		case 0x21 <= c && c <= 0x7E:
			table[c] = ValueByte | TargetByte
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		table[c] |= TokenByte
	}
	table['#'] &^= TargetByte
	return table
}()

// IsAll reports whether every byte of b is of the class. The empty text is of every class.
func IsAll[T string | []byte](b T, class ByteClass) bool {
	for i := range len(b) {
		if byteClasses[b[i]]&class == 0 {
			return false
		}
	}
	return true
}
