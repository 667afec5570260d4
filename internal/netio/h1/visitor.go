package h1

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

const (
	// MaxVisitorHead bounds the head of a visitor's request, in bytes: MaxHead leaves room for the
	// fields of the front.
	MaxVisitorHead = 32 << 10
	// MaxVisitorFields bounds its fields.
	MaxVisitorFields = 100
)

// RequestError refuses a request with another status than 400. It wraps [ErrMalformed].
type RequestError struct {
	Status int
	Err    error
}

func (e *RequestError) Error() string { return e.Err.Error() }
func (e *RequestError) Unwrap() error { return e.Err }

// BadRequest returns a [RequestError] with a reason.
func BadRequest(status int, format string, args ...any) error {
	return &RequestError{status, Malformed(format, args...)}
}

// StatusOf returns the status for a malformed request.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*RequestError](err); ok {
		return e.Status
	}
	return http.StatusBadRequest
}

// ParseVisitor checks b, one whole head of a visitor's request, by RFC 9112 without the errors that
// a server may forgive: a server that forgives them would read another request than one that does
// not. An absolute target is reduced to its path. The error is as that of Parse; [StatusOf] returns
// its status.
//
// hot: TestParsingAHeadDoesNotAllocate.
func (h *Head) ParseVisitor(b []byte) error {
	if len(b) > MaxVisitorHead {
		return tooLong(bytes.IndexByte(b, '\n'))
	}
	if err := h.Parse(b, VisitorRequest); err != nil {
		return err
	}
	authority, target, absolute := cutAbsolute(h.Target)
	if absolute {
		if !bytes.EqualFold(authority, h.Host) {
			return Malformed("target at %.40q, and Host %.40q", authority, h.Host)
		}
		if h.Target = target; len(target) == 0 {
			h.Target = rootTarget
		}
	}
	switch {
	case h.Target[0] != '/' && (string(h.Target) != "*" || string(h.Method) != http.MethodOptions):
		return Malformed("target %.40q", h.Target)
	case !validEscapes(h.Target):
		return Malformed("escapes in target %.40q", h.Target)
	case !validPort(h.Host):
		return Malformed("Host %.40q", h.Host)
	}
	return nil
}

var rootTarget = []byte{'/'}

// cutAbsolute splits an absolute target, RFC 9112 section 3.2.2.
func cutAbsolute(target []byte) (authority, path []byte, absolute bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if n := len(scheme); len(target) >= n && EqualFold(target[:n], scheme) {
			rest := target[n:]
			if slash := bytes.IndexByte(rest, '/'); slash >= 0 {
				return rest[:slash], rest[slash:], true
			}
			return rest, nil, true
		}
	}
	return nil, nil, false
}

// visitorLine reads the request line of a visitor. The target may have bytes beyond ASCII, which
// are escaped when it is forwarded.
func (h *Head) visitorLine(b []byte) (rest []byte, err error) {
	line, rest, err := cutLine(b, false)
	if err != nil {
		return nil, err
	}
	method, line, _ := bytes.Cut(line, space)
	target, proto, _ := bytes.Cut(line, space)
	h.Method, h.Target, h.HTTP10 = method, target, string(proto) == "HTTP/1.0"
	switch {
	case len(method) == 0 || !IsAll(method, TokenByte):
		return nil, Malformed("method %.20q", method)
	case !h.HTTP10 && string(proto) != "HTTP/1.1":
		if len(proto) == len("HTTP/1.1") && string(proto[:5]) == "HTTP/" && isDigit(proto[5]) && proto[6] == '.' && isDigit(proto[7]) {
			return nil, BadRequest(http.StatusHTTPVersionNotSupported, "version %q", proto)
		}
		return nil, Malformed("version %.20q", proto)
	case string(method) == http.MethodConnect:
		return nil, BadRequest(http.StatusNotImplemented, "method %s", method)
	case len(target) == 0:
		return nil, Malformed("no target")
	}
	for _, c := range target {
		if c < 0x80 && byteClasses[c]&TargetByte == 0 {
			return nil, Malformed("target %.40q", target)
		}
	}
	return rest, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// validEscapes reports whether each % of the path begins an escape. Readers disagree about the
// meaning of other paths.
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

// validPort reports whether the text after the name in a Host is a port, or empty.
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

// knownCodings reports whether a list has only registered transfer codings. An unsupported coding
// has another status than an unknown one.
func knownCodings(list []byte) bool {
	n, ok := 0, true
	Tokens(list, func(token string) {
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

// Climbs reports whether some reader could resolve a path to a place above its root: the path has a
// segment "..", in any spelling.
func Climbs(path string) bool {
	if !strings.Contains(path, "..") && !strings.Contains(path, "%") {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(path)
	for segment := range strings.SplitSeq(plain, "/") {
		if segment, _, _ = strings.Cut(segment, ";"); segment == ".." {
			return true
		}
	}
	return false
}

// Plain returns a path as a reader sees it that decodes and resolves it: without escapes,
// parameters of segments, and segments that are empty or dots. The path has no query.
//
// hot: TestSmallExchangeAllocations of package tunnel, where the path is plain.
func Plain(path string) string {
	if !strings.ContainsAny(path, `%\;`) && !strings.Contains(path, "//") && !strings.Contains(path, "/.") {
		return path
	}
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	var kept []string
	for segment := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		switch segment, _, _ = strings.Cut(segment, ";"); segment {
		case "", ".":
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, segment)
		}
	}
	return "/" + strings.Join(kept, "/")
}
