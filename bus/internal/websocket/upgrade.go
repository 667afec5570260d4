package websocket

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	httpaccess "paddock/internal/process/access"
)

const (
	// maxRequest bounds the request of a handshake; browsers send cookies.
	maxRequest = 32 << 10
	// acceptGUID is RFC 6455 section 1.3.
	acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

// HandshakeError is a handshake that is refused with an HTTP status.
type HandshakeError struct {
	status int
	reason string
}

func (e *HandshakeError) Error() string { return "websocket handshake: " + e.reason }

// Policy decides about the requests of handshakes.
type Policy struct {
	TLS bool // the connection is encrypted
	// SameOrigin refuses pages of other origins than the server's own. AllowedOrigins, if not
	// empty, refuses pages of origins that it does not list. With both, a page must satisfy both.
	SameOrigin     bool
	AllowedOrigins []string
	LocalNames     bool // pages of a name other than localhost are refused
	Compression    bool // permessage-deflate is agreed to
}

// Upgrade reads the request of a WebSocket handshake and answers it.
func Upgrade(stream io.ReadWriter, p *Policy) (deflate bool, err error) {
	in := bufio.NewReader(io.LimitReader(stream, maxRequest))
	r, err := http.ReadRequest(in)
	if ne := net.Error(nil); errors.As(err, &ne) || errors.Is(err, io.EOF) {
		return false, err // the connection has ended
	}
	if err != nil {
		err = &HandshakeError{http.StatusBadRequest, err.Error()}
	} else {
		err = p.check(r)
	}
	if err == nil && in.Buffered() > 0 {
		err = &HandshakeError{http.StatusBadRequest, "client sent data before handshake is complete"}
	}
	if refused, ok := errors.AsType[*HandshakeError](err); ok {
		text := http.StatusText(refused.status)
		fmt.Fprintf(stream, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nSec-Websocket-Version: 13\r\n"+
			"Connection: close\r\nContent-Length: %d\r\n\r\n%s\n", refused.status, text, len(text)+1, text)
		return false, err
	}
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		acceptKey(r.Header.Get("Sec-Websocket-Key")) + "\r\n"
	if deflate = p.Compression && offersDeflate(r.Header); deflate {
		answer += "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n"
	}
	_, err = io.WriteString(stream, answer+"\r\n")
	return deflate, err
}

func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// check reports the fault of a request: RFC 6455 section 4.2.1. Any path will do, for a proxy may
// have put one in front, but for those of protocols that are not spoken here.
func (p *Policy) check(r *http.Request) error {
	bad := func(reason string) error { return &HandshakeError{http.StatusBadRequest, reason} }
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-Websocket-Key"))
	switch {
	case strings.HasSuffix(r.URL.Path, "/mqtt"), strings.HasSuffix(r.URL.Path, "/leafnode"):
		return &HandshakeError{http.StatusNotFound, "no such endpoint: " + r.URL.Path}
	case r.Method != http.MethodGet:
		return &HandshakeError{http.StatusMethodNotAllowed, "request method must be GET"}
	case !r.ProtoAtLeast(1, 1):
		return bad("HTTP is too old")
	case r.Host == "":
		return bad("'Host' missing in request")
	case !hasToken(r.Header, "Upgrade", "websocket"):
		return bad("invalid value for header 'Upgrade'")
	case !hasToken(r.Header, "Connection", "Upgrade"):
		return bad("invalid value for header 'Connection'")
	case err != nil || len(key) != 16:
		return bad("invalid websocket key")
	case !hasToken(r.Header, "Sec-Websocket-Version", "13"):
		return bad("invalid version")
	}
	return p.checkOrigin(r)
}

// hasToken reports whether the list in a header has the token, in any case.
func hasToken(h http.Header, name, token string) bool {
	return listHas(h[name], func(one string) bool { return strings.EqualFold(one, token) })
}

// listHas reports whether has is true for an element of the comma-separated lists.
func listHas(lists []string, has func(element string) bool) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if has(strings.TrimSpace(one)) {
				return true
			}
		}
	}
	return false
}

// checkOrigin checks the site of the page. A client that sends no origin is no page, and it
// may send any origin: RFC 6455 section 10.2.
func (p *Policy) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || !p.SameOrigin && !p.LocalNames && len(p.AllowedOrigins) == 0 {
		return nil
	}
	scheme := "http"
	if p.TLS {
		scheme = "https"
	}
	from := site(origin)
	switch {
	case from == "":
		return &HandshakeError{http.StatusForbidden, "origin not allowed: it cannot be read"}
	case p.SameOrigin && from != site(scheme+"://"+r.Host):
		return &HandshakeError{http.StatusForbidden, "origin not allowed: not same origin"}
	case p.LocalNames && !httpaccess.LocalName(r.Host):
		return &HandshakeError{http.StatusForbidden, "origin not allowed: without credentials only addresses and localhost are answered"}
	case len(p.AllowedOrigins) > 0 && !p.allows(from):
		return &HandshakeError{http.StatusForbidden, "origin not allowed: not in the allowed list"}
	}
	return nil
}

func (p *Policy) allows(from string) bool {
	for _, origin := range p.AllowedOrigins {
		if site(origin) == from {
			return true
		}
	}
	return false
}

// site returns an origin's scheme, host and port in one form; "" if it is none.
func site(origin string) string {
	u, err := url.ParseRequestURI(origin)
	if err != nil || u.Host == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "80"
		if strings.EqualFold(u.Scheme, "https") {
			port = "443"
		}
	}
	return strings.ToLower(u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port))
}

// offersDeflate reports whether the client offers permessage-deflate in a way that can be taken:
// without a smaller window for this side's output, which the compressor does not support. RFC 7692
// section 7.1.
func offersDeflate(h http.Header) bool { return listHas(h["Sec-Websocket-Extensions"], takesDeflate) }

func takesDeflate(offer string) bool {
	name, params, _ := strings.Cut(offer, ";")
	if !strings.EqualFold(strings.TrimSpace(name), "permessage-deflate") {
		return false
	}
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if !strings.EqualFold(name, "server_max_window_bits") {
			continue
		}
		if bits, err := strconv.Atoi(strings.Trim(value, `" `)); err != nil || bits < 15 {
			return false
		}
	}
	return true
}
