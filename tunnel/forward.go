package tunnel

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// forward writes the head of a visitor's request anew, as SPEC section 7 has it: what
// net/http has made of his bytes, without the fields of his connection and those by
// which he could speak for somebody else, with ours.
type forward struct {
	r         *http.Request
	peer      netip.AddrPort
	trusted   bool // the peer may say of whom it forwards
	stripAuth bool // the tunnel's own user and password go no further
	upgrade   string
	stream    bool // the length of the body is not known, or it is long
}

var errTarget = errors.New("the target of the request cannot be forwarded")

// append appends the head.
func (f *forward) append(dst []byte) ([]byte, error) {
	r := f.r
	dst = append(dst, r.Method...)
	dst = append(dst, ' ')
	dst, err := f.appendTarget(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, r.Host...)
	dst = append(dst, "\r\n"...)
	named := connectionTokens(r.Header["Connection"])
	for name, values := range r.Header {
		if f.drops(name, named) {
			continue
		}
		for _, value := range values {
			dst = appendField(dst, name, value)
		}
	}
	dst = f.appendForwarding(dst)
	dst = f.appendFraming(dst)
	return append(dst, "\r\n"...), nil
}

// appendTarget appends the visitor's target as he wrote it; bytes beyond ASCII are
// escaped.
func (f *forward) appendTarget(dst []byte) ([]byte, error) {
	target := f.r.RequestURI
	if target == "" || target[0] != '/' && target != "*" {
		target = f.r.URL.RequestURI() // it was absolute
	}
	if target == "*" && f.r.Method != http.MethodOptions || target[0] != '/' && target != "*" {
		return dst, errTarget
	}
	for i := range len(target) {
		switch c := target[i]; {
		case byteClasses[c]&targetByte != 0:
			dst = append(dst, c)
		case c >= 0x80:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		default:
			return dst, errTarget
		}
	}
	return dst, nil
}

const upperHex = "0123456789ABCDEF"

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// connectionTokens are the fields that Connection names, in lower case.
func connectionTokens(values []string) (named []string) {
	for _, value := range values {
		tokens([]byte(value), func(token string) { named = append(named, token) })
	}
	return named
}

// drops says whether a field stays behind.
func (f *forward) drops(name string, named []string) bool {
	known := lookupField(name)
	if known.hopByHop() || known == fieldHost || known == fieldContentLength || known == fieldTrailer {
		return true // what there is to say of them is said again
	}
	for _, n := range named {
		if equalFold(name, n) {
			return true
		}
	}
	switch name {
	case "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded":
		return true
	case "X-Request-Id":
		return true
	case "Authorization":
		return f.stripAuth
	case "Expect":
		return !f.stream
	}
	return false
}

// appendForwarding says who has asked for what. What a trusted peer has said comes
// first; what anybody else has said is dropped.
func (f *forward) appendForwarding(dst []byte) []byte {
	r, address := f.r, "unknown"
	if f.peer.IsValid() {
		address = f.peer.Addr().String()
	}
	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	host, chain, real, forwarded := r.Host, address, address, ""
	if f.trusted {
		if before := strings.Join(r.Header["X-Forwarded-For"], ", "); before != "" {
			chain = before + ", " + address
		}
		host = firstOf(r.Header, "X-Forwarded-Host", host)
		proto = firstOf(r.Header, "X-Forwarded-Proto", proto)
		real = firstOf(r.Header, "X-Real-Ip", real)
		if before := strings.Join(r.Header["Forwarded"], ", "); before != "" {
			forwarded = before + ", "
		}
	}
	dst = appendField(dst, "X-Forwarded-For", chain)
	dst = appendField(dst, "X-Forwarded-Host", host)
	dst = appendField(dst, "X-Forwarded-Proto", proto)
	dst = appendField(dst, "X-Real-Ip", real)
	dst = append(dst, "Forwarded: "...)
	dst = append(dst, forwarded...)
	if f.peer.Addr().Is6() {
		address = `"[` + address + `]"`
	}
	dst = append(dst, "for="...)
	dst = append(dst, address...)
	dst = append(dst, `;host="`...)
	dst = append(dst, r.Host...)
	dst = append(dst, `";proto=`...)
	if r.TLS != nil {
		dst = append(dst, "https\r\n"...)
	} else {
		dst = append(dst, "http\r\n"...)
	}
	return appendField(dst, "X-Request-Id", requestID(r.Header.Get("X-Request-Id")))
}

func firstOf(h http.Header, name, otherwise string) string {
	if v := h[name]; len(v) > 0 && v[0] != "" {
		return v[0]
	}
	return otherwise
}

// maxRequestID bounds what is kept of a visitor's own.
const maxRequestID = 64

// requestID keeps an id that is harmless in every log, or makes one. It tells requests
// apart, and guards nothing.
func requestID(given string) string {
	ok := len(given) > 0 && len(given) <= maxRequestID
	for i := 0; ok && i < len(given); i++ {
		c := given[i]
		ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-'
	}
	if ok {
		return given
	}
	var id [16]byte
	for i := range id {
		id[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(id[:])
}

// appendFraming says how long the body is, and what is asked of this hop.
func (f *forward) appendFraming(dst []byte) []byte {
	r := f.r
	switch {
	case r.ContentLength > 0, r.ContentLength == 0 && bodyUsual(r.Method):
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, r.ContentLength, 10)
		dst = append(dst, "\r\n"...)
	case r.ContentLength < 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	if len(r.Trailer) > 0 {
		dst = append(dst, "Trailer: "...)
		first := true
		for name := range r.Trailer {
			if !first {
				dst = append(dst, ", "...)
			}
			dst, first = append(dst, name...), false
		}
		dst = append(dst, "\r\n"...)
	}
	for _, token := range connectionTokens(r.Header["Te"]) {
		if token == "trailers" {
			dst = append(dst, "TE: trailers\r\n"...)
			break
		}
	}
	if f.upgrade != "" {
		dst = append(dst, "Connection: Upgrade\r\n"...)
		dst = appendField(dst, "Upgrade", f.upgrade)
	}
	return dst
}

// bodyUsual says whether a target may want to know that there is no body.
func bodyUsual(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// upgradeOf is what a visitor wants to change to, "" if nothing that can be: a change to
// h2c is between him and the front.
func upgradeOf(r *http.Request) string {
	if r.ProtoMajor != 1 || r.ContentLength != 0 {
		return ""
	}
	values := r.Header["Upgrade"]
	if len(values) != 1 || values[0] == "" || !isAll(values[0], valueByte) {
		return ""
	}
	asked, h2c := false, false
	for _, token := range connectionTokens(r.Header["Connection"]) {
		asked = asked || token == "upgrade"
	}
	tokens([]byte(values[0]), func(token string) { h2c = h2c || token == "h2c" })
	if !asked || h2c {
		return ""
	}
	return values[0]
}

// idempotent says whether doing it twice does no harm, RFC 9110 section 9.2.2.
func idempotent(r *http.Request) bool {
	switch r.Method {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE":
		return true
	}
	return r.Header.Get("Idempotency-Key") != ""
}
