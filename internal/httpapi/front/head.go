package front

import "bytes"

// Head is the head of a plain request. Its slices are borrowed until the function
// that it was given to returns.
type Head struct {
	Post          bool   // else it is a GET
	Path          []byte // of unreserved characters and slashes, none doubled, and no segment begins with a dot
	Query         []byte // without the question mark, as it came
	Host          []byte // with its port
	Authorization []byte // nil: none
	ContentType   []byte // nil: none

	size int // of the head, in bytes
	body int // of the body
}

// verdict is what has been found out about the beginning of a text.
type verdict uint8

const (
	partial verdict = iota // it may become a plain request
	odd                    // it will not
	plain                  // it begins with one
)

// parse reads the head of a request. Plain is what every reader of HTTP/1.1 takes
// for the same: RFC 9112 without any of its options, exceptions and legacies.
// That is what programs send; the rest is odd, though most of it is fine.
//
// hot: BenchmarkParse
func (h *Head) parse(b []byte) verdict {
	if v := h.begins(b); v != plain {
		return v
	}
	*h = Head{Post: b[0] == 'P', body: -1}
	for first := true; ; first = false {
		line, v := h.line(b)
		switch {
		case v != plain:
			return v
		case first && !h.requestLine(line):
			return odd
		case len(line) == 0:
			return h.complete()
		case !first && !h.field(line):
			return odd
		}
	}
}

// line takes the next line of the head. Others take a line feed alone for the end
// of a line, so it is not waited behind.
func (h *Head) line(b []byte) ([]byte, verdict) {
	n := bytes.IndexByte(b[h.size:], '\n')
	if n < 0 {
		return nil, partial
	}
	line := b[h.size : h.size+n]
	h.size += n + 1
	if n == 0 || line[n-1] != '\r' {
		return nil, odd
	}
	return line[:n-1], plain
}

// complete judges what has been read as a whole.
func (h *Head) complete() verdict {
	if h.Host == nil || h.Post != (h.body >= 0) {
		return odd
	}
	h.body = max(h.body, 0)
	return plain
}

// begins looks at the method only.
func (h *Head) begins(b []byte) verdict {
	const get, post = "GET /", "POST /"
	for _, method := range [...]string{post, get} {
		n := min(len(b), len(method))
		if string(b[:n]) == method[:n] {
			if n < len(method) {
				return partial
			}
			return plain
		}
	}
	return odd
}

// requestLine reads a line that begins as begins has found.
func (h *Head) requestLine(line []byte) bool {
	target, ok := bytes.CutSuffix(line, []byte(" HTTP/1.1"))
	if !ok {
		return false
	}
	target = target[bytes.IndexByte(target, '/'):]
	for i, c := range target {
		switch {
		case c == '?':
			h.Path, h.Query = target[:i], target[i+1:]
			return isQuery(h.Query)
		case class[c]&inPath == 0:
			return false
		case c == '/' && i+1 < len(target) && (target[i+1] == '/' || target[i+1] == '.'):
			return false
		}
	}
	h.Path = target
	return true
}

func isQuery(q []byte) bool {
	for _, c := range q {
		if c <= ' ' || c > '~' || c == '#' {
			return false
		}
	}
	return true
}

// field reads a line of the head. False: it is malformed, or means something to
// whoever reads or guards requests.
func (h *Head) field(line []byte) bool {
	colon := 0
	for colon < len(line) && class[line[colon]]&inToken != 0 {
		colon++
	}
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return false
	}
	name, value := line[:colon], line[colon+1:]
	for _, c := range value {
		if class[c]&inValue == 0 {
			return false
		}
	}
	value = bytes.Trim(value, " \t")
	switch len(name) {
	case len("Host"):
		if is(name, "Host") {
			return set(&h.Host, value) && isHost(value)
		}
	case len("Expect"): // Origin has the same length
		return !is(name, "Expect") && !is(name, "Origin")
	case len("Upgrade"): // Trailer has the same length
		return !is(name, "Upgrade") && !is(name, "Trailer")
	case len("Connection"):
		return !is(name, "Connection") || is(value, "keep-alive")
	case len("Content-Type"):
		if is(name, "Content-Type") {
			return set(&h.ContentType, value)
		}
	case len("Authorization"):
		if is(name, "Authorization") {
			return set(&h.Authorization, value)
		}
	case len("Content-Length"): // Sec-Fetch-Site and HTTP2-Settings have the same length
		if is(name, "Content-Length") {
			return h.contentLength(value)
		}
		return !is(name, "Sec-Fetch-Site") && !is(name, "HTTP2-Settings")
	case len("Content-Encoding"):
		return !is(name, "Content-Encoding")
	case len("Transfer-Encoding"):
		return !is(name, "Transfer-Encoding")
	}
	return true
}

// is compares regardless of case. Both are ASCII.
func is(text []byte, name string) bool {
	return len(text) == len(name) && (string(text) == name || bytes.EqualFold(text, []byte(name)))
}

// set takes a field that must not be repeated.
func set(field *[]byte, value []byte) bool {
	fresh := *field == nil
	*field = value
	return fresh && value != nil
}

// contentLength takes one of up to five digits, which is more than is taken here,
// without a zero before others.
func (h *Head) contentLength(value []byte) bool {
	if h.body >= 0 || len(value) == 0 || len(value) > 5 || value[0] == '0' && len(value) > 1 {
		return false
	}
	h.body = 0
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
		h.body = h.body*10 + int(c-'0')
	}
	return true
}

// isHost takes a name or an IPv4 address, and a port or none.
func isHost(host []byte) bool {
	name, port, _ := bytes.Cut(host, []byte(":"))
	for _, c := range name {
		if class[c]&inHost == 0 {
			return false
		}
	}
	for _, c := range port {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(name) > 0
}

// The places in which a byte may stand.
const (
	inToken uint8 = 1 << iota // RFC 9110 section 5.6.2
	inPath                    // unreserved characters, and the slash
	inValue                   // visible ASCII, space and tab
	inHost                    // names and IPv4 addresses
)

var class = func() (t [256]uint8) {
	add := func(place uint8, bytes string) {
		for _, c := range []byte(bytes) {
			t[c] |= place
		}
	}
	for c := ' '; c <= '~'; c++ {
		add(inValue, string(c))
	}
	add(inValue, "\t")
	const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	add(inToken|inPath|inHost, alphanumeric)
	add(inToken, "!#$%&'*+-.^_`|~")
	add(inPath, "/-._~")
	add(inHost, "-.")
	return t
}()
