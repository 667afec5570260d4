package plainhttp

import "bytes"

// field reads a line of the head. It returns false if the line is malformed, or has a meaning that
// plain requests do not have.
func (r *Request) field(line []byte) bool {
	colon := span(line, inToken)
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return false
	}
	name, value := line[:colon], line[colon+1:]
	if span(value, inValue) != len(value) {
		return false
	}
	return r.take(name, bytes.Trim(value, " \t"))
}

// take records a field. It returns false if the request is not plain with it.
func (r *Request) take(name, value []byte) bool {
	switch name[0] | 0x20 {
	case 'a':
		switch {
		case is(name, "Accept-Encoding"):
			return set(&r.AcceptEncoding, value)
		case is(name, "Authorization"):
			return set(&r.Authorization, value)
		}
	case 'c':
		switch {
		case is(name, "Connection"):
			return is(value, "keep-alive")
		case is(name, "Content-Length"):
			return r.contentLength(value)
		case is(name, "Content-Type"):
			return set(&r.ContentType, value)
		}
		return !is(name, "Content-Encoding")
	case 'h':
		if is(name, "Host") {
			return set(&r.Host, value) && len(value) > 0 && span(value, inHost) == len(value)
		}
		return !is(name, "HTTP2-Settings")
	case 'i':
		return len(name) < 3 || !is(name[:3], "If-")
	case 'r':
		return !is(name, "Range")
	case 't':
		return !is(name, "Transfer-Encoding") && !is(name, "Trailer") && !is(name, "TE")
	case 'e':
		return !is(name, "Expect")
	case 'u':
		return !is(name, "Upgrade")
	case 'o', 's':
		r.FromPage = r.FromPage || is(name, "Origin") || is(name, "Sec-Fetch-Site")
	}
	return true
}

// is compares ASCII texts regardless of case.
func is(text []byte, name string) bool {
	return len(text) == len(name) && (string(text) == name || bytes.EqualFold(text, []byte(name)))
}

// set records a field that must not be repeated.
func set(field *[]byte, value []byte) bool {
	fresh := *field == nil
	*field = value
	return fresh && value != nil
}

// contentLength reads a number of up to five digits, which exceeds the bound on bodies, without
// leading zeros.
func (r *Request) contentLength(value []byte) bool {
	if r.body >= 0 || len(value) == 0 || len(value) > 5 || value[0] == '0' && len(value) > 1 {
		return false
	}
	r.body = 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		r.body = r.body*10 + int(c-'0')
	}
	return true
}

// byteClass is a set of places where a byte may occur.
type byteClass uint8

const (
	inToken byteClass = 1 << iota // RFC 9110 section 5.6.2
	inPath                        // unescaped in a path, RFC 3986
	inQuery                       // visible ASCII except #
	inValue                       // visible ASCII, space and tab
	inHost                        // names and addresses, with a port
)

// byteClasses holds the classes of each byte. Each class is a part of the bytes that net/http
// accepts. Escapes in the path and bytes beyond ASCII are left out, because they need a decision.
var byteClasses = func() (t [256]byteClass) {
	add := func(p byteClass, bytes string) {
		for _, c := range []byte(bytes) {
			t[c] |= p
		}
	}
	for c := '!'; c <= '~'; c++ {
		add(inValue|inQuery, string(c))
	}
	t['#'] &^= inQuery
	add(inValue, " \t")
	const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	add(inToken|inPath|inHost, alphanumeric)
	add(inToken, "!#$%&'*+-.^_`|~")
	add(inPath, "/-._~!$&'()*+,;=:@")
	add(inHost, "-._:[]")
	return t
}()

// span returns how many bytes at the beginning of b are of a class.
func span(b []byte, in byteClass) int {
	for i, c := range b {
		if byteClasses[c]&in == 0 {
			return i
		}
	}
	return len(b)
}
