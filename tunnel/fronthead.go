package tunnel

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

const (
	// maxVisitorHead bounds the head of a visitor's request: what we add to it and what
	// the link allows leave room for more.
	maxVisitorHead = 32 << 10
	// maxVisitorFields bounds its fields.
	maxVisitorFields = 100
)

// requestError is a request that is refused with another status than 400.
type requestError struct {
	status int
	err    error
}

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

func badRequest(status int, format string, args ...any) error {
	return &requestError{status, badHead(format, args...)}
}

// statusOf is the status for a malformed request.
func statusOf(err error) int {
	if e, ok := errors.AsType[*requestError](err); ok {
		return e.status
	}
	return http.StatusBadRequest
}

// parseVisitor judges b, one whole head of a visitor's request, as RFC 9112 has it, without
// what it lets a server forgive: who forgives reads another request than who does not.
// An absolute target becomes what it means.
//
// hot: TestParsingAHeadDoesNotAllocate.
func (h *head) parseVisitor(b []byte) error {
	if len(b) > maxVisitorHead {
		return tooLong(bytes.IndexByte(b, '\n'))
	}
	if err := h.parse(b, visitorForm); err != nil {
		return err
	}
	authority, target, absolute := cutAbsolute(h.target)
	if absolute {
		if !bytes.EqualFold(authority, h.host) {
			return badHead("target at %.40q, and Host %.40q", authority, h.host)
		}
		if h.target = target; len(target) == 0 {
			h.target = rootTarget
		}
	}
	switch {
	case h.target[0] != '/' && (string(h.target) != "*" || string(h.method) != http.MethodOptions):
		return badHead("target %.40q", h.target)
	case !validEscapes(h.target):
		return badHead("escapes in target %.40q", h.target)
	case !validPort(h.host):
		return badHead("Host %.40q", h.host)
	}
	return nil
}

var rootTarget = []byte{'/'}

// cutAbsolute takes an absolute target apart, RFC 9112 section 3.2.2.
func cutAbsolute(target []byte) (authority, path []byte, absolute bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if n := len(scheme); len(target) >= n && equalFold(target[:n], scheme) {
			rest := target[n:]
			if slash := bytes.IndexByte(rest, '/'); slash >= 0 {
				return rest[:slash], rest[slash:], true
			}
			return rest, nil, true
		}
	}
	return nil, nil, false
}

// visitorLine reads the request line of a visitor. Bytes beyond ASCII may occur in the
// target, and are escaped when it is forwarded.
func (h *head) visitorLine(b []byte) (rest []byte, err error) {
	line, rest, err := cutLine(b, false)
	if err != nil {
		return nil, err
	}
	method, line, _ := bytes.Cut(line, space)
	target, proto, _ := bytes.Cut(line, space)
	h.method, h.target, h.old = method, target, string(proto) == "HTTP/1.0"
	switch {
	case len(method) == 0 || !isAll(method, tokenByte):
		return nil, badHead("method %.20q", method)
	case !h.old && string(proto) != "HTTP/1.1":
		if len(proto) == len("HTTP/1.1") && string(proto[:5]) == "HTTP/" && isDigit(proto[5]) && proto[6] == '.' && isDigit(proto[7]) {
			return nil, badRequest(http.StatusHTTPVersionNotSupported, "version %q", proto)
		}
		return nil, badHead("version %.20q", proto)
	case string(method) == http.MethodConnect:
		return nil, badRequest(http.StatusNotImplemented, "method %s", method)
	case len(target) == 0:
		return nil, badHead("no target")
	}
	for _, c := range target {
		if c < 0x80 && byteClasses[c]&targetByte == 0 {
			return nil, badHead("target %.40q", target)
		}
	}
	return rest, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// validEscapes says whether each % of the path begins an escape: who takes one apart that
// does not sees another path than who does not try.
func validEscapes(target []byte) bool {
	path, _, _ := bytes.Cut(target, []byte{'?'})
	for {
		at := bytes.IndexByte(path, '%')
		if at < 0 {
			return true
		}
		if len(path) < at+3 || !isHex(path[at+1]) || !isHex(path[at+2]) {
			return false
		}
		path = path[at+3:]
	}
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// validPort says whether what follows the name in a Host is a port, or nothing.
func validPort(host []byte) bool {
	colon := bytes.LastIndexByte(host, ':')
	if colon < 0 || host[len(host)-1] == ']' {
		return true
	}
	for _, c := range host[colon+1:] {
		if !isDigit(c) {
			return false
		}
	}
	return len(host)-colon-1 <= len("65535") && (host[0] == '[' || bytes.IndexByte(host, ':') == colon)
}

// knownCodings says whether a list has only transfer codings that there are: one that is
// not done is another mistake than one that does not exist.
func knownCodings(list []byte) bool {
	n, ok := 0, true
	tokens(list, func(token string) {
		n++
		switch token {
		case "gzip", "x-gzip", "compress", "x-compress", "deflate", "identity":
		case "chunked":
			ok = ok && n > 1
		default:
			ok = false
		}
	})
	return ok && n > 0
}

// tooLong is for a head that is, and whose first line ends there.
func tooLong(first int) error {
	if first < 0 || first >= maxVisitorHead {
		return badRequest(http.StatusRequestURITooLong, "over %d bytes", maxVisitorHead)
	}
	return badRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d bytes", maxVisitorHead)
}

var emptyLine = []byte("\r\n\r\n")

// visitorHead is the length of the head at the front of b, with its empty line; 0 if it
// has not come whole. The first seen bytes have been looked at before. The error says
// that no head can become of it.
func visitorHead(b []byte, seen int) (n int, err error) {
	from := max(seen-len(emptyLine)+1, 0)
	if at := bytes.Index(b[from:], emptyLine); at >= 0 {
		return from + at + len(emptyLine), nil
	}
	first := bytes.IndexByte(b, '\n')
	switch {
	case len(b) >= maxVisitorHead:
		return 0, tooLong(first)
	case first < 0:
		if method, _, _ := bytes.Cut(b, space); !isAll(method, tokenByte) {
			return 0, badHead("method %.20q", method)
		}
		return 0, nil
	case seen <= first:
		var h head
		if _, err := h.visitorLine(b); err != nil {
			return 0, err
		}
	}
	for at := max(from, 0); ; at++ {
		next := bytes.IndexByte(b[at:], '\n')
		if next < 0 {
			return 0, nil
		}
		if at += next; at == 0 || b[at-1] != '\r' {
			return 0, fmt.Errorf("%w: LF without CR", errHead)
		}
	}
}
