package tunnel

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
)

// forward writes the head of a visitor's request anew, as SPEC section 7 has it: without
// the fields of his connection and those by which he could speak for somebody else, with
// ours.
type forward struct {
	r         *request
	trusted   bool // the peer may say of whom it forwards
	stripAuth bool // the tunnel's own user and password go no further
	upgrade   string
}

var errTarget = errors.New("the target of the request cannot be forwarded")

// append appends the head.
func (f *forward) append(dst []byte) ([]byte, error) {
	r := f.r
	dst = append(dst, r.method...)
	dst = append(dst, ' ')
	dst, err := f.appendTarget(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, r.host...)
	dst = append(dst, "\r\n"...)
	var named []string
	for i := range r.fields {
		if v := &r.fields[i]; v.known == fieldConnection && !equalFold(v.value, "keep-alive") && !equalFold(v.value, "close") {
			tokens(v.value, func(token string) { named = append(named, token) })
		}
	}
	for i := range r.fields {
		if v := &r.fields[i]; !f.drops(v) && !isNamed(v.name, named) {
			dst = appendField(dst, v.name, v.value)
		}
	}
	dst = f.appendForwarding(dst)
	dst = f.appendFraming(dst)
	return append(dst, "\r\n"...), nil
}

// appendTarget appends the visitor's target as he wrote it; bytes beyond ASCII are
// escaped.
func (f *forward) appendTarget(dst []byte) ([]byte, error) {
	target := f.r.target
	if len(target) == 0 || target[0] != '/' && (string(target) != "*" || string(f.r.method) != http.MethodOptions) {
		return dst, errTarget
	}
	for _, c := range target {
		switch {
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

func appendField[N, V string | []byte](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// drops says whether a field stays behind: it is of the visitor's connection, or will be
// said anew.
func (f *forward) drops(v *field) bool {
	switch v.known {
	case otherField:
		return spoken(v.name) || f.stripAuth && equalFold(v.name, "authorization")
	case fieldExpect:
		return !f.r.expects
	}
	return true
}

// spoken says whether a field is one of those that we speak in. Many services take
// underlines for dashes, so names with them are the same names.
func spoken(name []byte) bool {
	switch len(name) {
	case len("forwarded"):
		return equalDashed(name, "forwarded") || equalDashed(name, "x-real-ip")
	case len("x-request-id"):
		return equalDashed(name, "x-request-id")
	case len("x-forwarded-for"):
		return equalDashed(name, "x-forwarded-for")
	case len("x-forwarded-host"):
		return equalDashed(name, "x-forwarded-host")
	case len("x-forwarded-proto"):
		return equalDashed(name, "x-forwarded-proto") || equalDashed(name, "transfer-encoding")
	case len("content-length"):
		return equalDashed(name, "content-length")
	}
	return false
}

// equalDashed is equalFold that takes an underline for a dash.
func equalDashed(b []byte, lower string) bool {
	for i, c := range b {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '_':
			c = '-'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// appendForwarding says who has asked for what. What a trusted peer has said comes
// first; what anybody else has said is dropped.
func (f *forward) appendForwarding(dst []byte) []byte {
	var room [64]byte
	r, address, proto := f.r, append(room[:0], "unknown"...), "http"
	if r.peer.IsValid() {
		address = r.peer.Addr().AppendTo(room[:0])
	}
	if r.secure {
		proto = "https"
	}
	host, scheme, real := r.host, []byte(proto), address
	var chain, forwarded []byte
	if f.trusted {
		chain, forwarded = r.joined("x-forwarded-for"), r.joined("forwarded")
		host = orElse(r.get("x-forwarded-host"), host)
		scheme = orElse(r.get("x-forwarded-proto"), scheme)
		real = orElse(r.get("x-real-ip"), real)
	}
	dst = append(dst, "X-Forwarded-For: "...)
	if len(chain) > 0 {
		dst = append(append(dst, chain...), ", "...)
	}
	dst = append(append(dst, address...), "\r\n"...)
	dst = appendField(dst, "X-Forwarded-Host", host)
	dst = appendField(dst, "X-Forwarded-Proto", scheme)
	dst = appendField(dst, "X-Real-Ip", real)
	dst = append(dst, "Forwarded: "...)
	if len(forwarded) > 0 {
		dst = append(append(dst, forwarded...), ", "...)
	}
	dst = append(dst, "for="...)
	if r.peer.Addr().Is6() {
		dst = append(append(append(dst, `"[`...), address...), `]"`...)
	} else {
		dst = append(dst, address...)
	}
	dst = append(append(append(dst, `;host="`...), r.host...), `";proto=`...)
	dst = append(append(dst, proto...), "\r\nX-Request-Id: "...)
	return append(appendRequestID(dst, r.get("x-request-id")), "\r\n"...)
}

// orElse is a unless it is empty.
func orElse(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

// maxRequestID bounds what is kept of a visitor's own.
const maxRequestID = 64

// appendRequestID keeps an id that is harmless in every log, or makes one. It tells
// requests apart, and guards nothing.
func appendRequestID(dst, given []byte) []byte {
	ok := len(given) > 0 && len(given) <= maxRequestID
	for i := 0; ok && i < len(given); i++ {
		c := given[i]
		ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '_' || c == '-'
	}
	if ok {
		return append(dst, given...)
	}
	var id [16]byte
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return hex.AppendEncode(dst, id[:])
}

// appendFraming says how long the body is, and what is asked of this hop.
func (f *forward) appendFraming(dst []byte) []byte {
	r := f.r
	switch size := r.size(); {
	case size > 0, size == 0 && bodyUsual(r.method):
		dst = appendLength(dst, size)
	case size < 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	trailers := false
	for i := range r.fields {
		switch v := &r.fields[i]; v.known {
		case fieldTrailer:
			if r.size() < 0 {
				dst = appendAnnounced(dst, v.value)
			}
		case fieldTE:
			trailers = trailers || hasToken(v.value, "trailers")
		}
	}
	if trailers {
		dst = append(dst, "TE: trailers\r\n"...)
	}
	if f.upgrade != "" {
		dst = append(dst, "Connection: Upgrade\r\n"...)
		dst = appendField(dst, "Upgrade", f.upgrade)
	}
	return dst
}

// appendAnnounced names the trailers that are to come, but for those that would mean
// something.
func appendAnnounced(dst, list []byte) []byte {
	at := len(dst)
	tokens(list, func(token string) {
		switch {
		case lookupField(token) != otherField || !isAll(token, tokenByte):
		case len(dst) == at:
			dst = append(append(dst, "Trailer: "...), token...)
		default:
			dst = append(append(dst, ", "...), token...)
		}
	})
	if len(dst) > at {
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// hasToken says whether a list has an element, which is in lower case.
func hasToken(list []byte, token string) (has bool) {
	if equalFold(list, token) {
		return true
	}
	tokens(list, func(t string) { has = has || t == token })
	return has
}

// bodyUsual says whether a target may want to know that there is no body.
func bodyUsual(method []byte) bool {
	switch string(method) {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return false
}

// upgradeOf is what a visitor wants to change to, "" if nothing that can be: a change to
// h2c is between him and the front.
func upgradeOf(r *request) string {
	if r.http2 || r.old || r.size() != 0 {
		return ""
	}
	var to []byte
	asked := false
	for i := range r.fields {
		switch f := &r.fields[i]; f.known {
		case fieldUpgrade:
			if to != nil {
				return ""
			}
			to = f.value
		case fieldConnection:
			asked = asked || hasToken(f.value, "upgrade")
		}
	}
	if !asked || len(to) == 0 || !isAll(to, valueByte) || hasToken(to, "h2c") {
		return ""
	}
	return string(to)
}

// idempotent says whether doing it twice does no harm, RFC 9110 section 9.2.2.
func idempotent(r *request) bool {
	switch string(r.method) {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE":
		return true
	}
	return len(r.get("idempotency-key")) > 0
}
