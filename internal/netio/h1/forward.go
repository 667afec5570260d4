package h1

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
)

// Forward rewrites the head of a visitor's request for the link, as SPEC section 7 requires:
// without the fields of the visitor's connection, without the fields that could claim another
// origin, and with the fields of the front.
type Forward struct {
	Head      *Head
	Peer      netip.AddrPort // the visitor's address; the zero value: unknown
	Secure    bool           // the visitor's connection used TLS
	Trusted   bool           // the peer is a proxy whose forwarding fields are believed
	StripAuth bool           // remove the user and password of the tunnel
	Upgrade   string
}

var errTarget = errors.New("the target of the request cannot be forwarded")

// Append appends the head for the link. It fails for a target that cannot be forwarded.
//
// hot: TestSmallExchangeAllocations of package tunnel.
func (f *Forward) Append(dst []byte) ([]byte, error) {
	h := f.Head
	dst = append(dst, h.Method...)
	dst = append(dst, ' ')
	dst, err := f.appendTarget(dst)
	if err != nil {
		return dst, err
	}
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, h.Host...)
	dst = append(dst, "\r\n"...)
	named := h.connectionNames()
	for i := range h.Fields {
		if v := &h.Fields[i]; !f.drops(v) && !isNamed(v.Name, named) {
			dst = AppendField(dst, v.Name, v.Value)
		}
	}
	dst = f.appendForwarding(dst)
	dst = f.appendFraming(dst)
	return append(dst, "\r\n"...), nil
}

// appendTarget appends the visitor's target unchanged, with bytes beyond ASCII escaped.
func (f *Forward) appendTarget(dst []byte) ([]byte, error) {
	target := f.Head.Target
	if len(target) == 0 || target[0] != '/' && (string(target) != "*" || string(f.Head.Method) != http.MethodOptions) {
		return dst, errTarget
	}
	for _, c := range target {
		switch {
		case byteClasses[c]&TargetByte != 0:
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

// drops reports whether a field is not copied: it belongs to the visitor's connection, or the front
// writes it.
func (f *Forward) drops(v *Field) bool {
	switch v.Known {
	case OtherField:
		return f.withholds(v.Name)
	case ExpectField:
		return !f.Head.Expects
	}
	return true
}

// CopiesTrailer reports whether a field of the visitor's trailers is copied. Some services read
// trailers as fields of the head, so they claim no more than these.
func (f *Forward) CopiesTrailer(v *Field) bool { return v.Known == OtherField && !f.withholds(v.Name) }

// withholds reports whether none but the front, or a trusted peer, may send a field of this name.
func (f *Forward) withholds(name []byte) bool {
	return spoken(name) || !f.Trusted && proxyField(name) || f.StripAuth && EqualFold(name, "authorization")
}

// spoken reports whether a field is one that the front writes. Services that follow CGI make
// environment variables of names: an underscore counts as a dash for most of them, and for some
// each byte that is neither a letter nor a digit. So such names count as the same names.
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

// equalDashed is like EqualFold for texts of equal length, but treats every byte that is neither
// a letter nor a digit as a dash.
func equalDashed(b []byte, lower string) bool {
	for i, c := range b {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case ('a' > c || c > 'z') && ('0' > c || c > '9'):
			c = '-'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// appendForwarding appends the fields about the origin of the request. Values from a trusted peer
// come first; values from other peers are dropped.
func (f *Forward) appendForwarding(dst []byte) []byte {
	var room [64]byte
	h, address, proto := f.Head, append(room[:0], "unknown"...), "http"
	if f.Peer.IsValid() {
		address = f.Peer.Addr().AppendTo(room[:0])
	}
	if f.Secure {
		proto = "https"
	}
	host, scheme, real := h.Host, []byte(proto), address
	var chain, forwarded []byte
	if f.Trusted {
		chain, forwarded = h.Joined("x-forwarded-for"), h.Joined("forwarded")
		host = orElse(h.Get("x-forwarded-host"), host)
		scheme = orElse(h.Get("x-forwarded-proto"), scheme)
		real = orElse(h.Get("x-real-ip"), real)
	}
	dst = append(dst, "X-Forwarded-For: "...)
	if len(chain) > 0 {
		dst = append(append(dst, chain...), ", "...)
	}
	dst = append(append(dst, address...), "\r\n"...)
	dst = AppendField(dst, "X-Forwarded-Host", host)
	dst = AppendField(dst, "X-Forwarded-Proto", scheme)
	dst = AppendField(dst, "X-Real-Ip", real)
	dst = append(dst, "Forwarded: "...)
	if len(forwarded) > 0 {
		dst = append(append(dst, forwarded...), ", "...)
	}
	dst = append(dst, "for="...)
	if f.Peer.Addr().Is6() {
		dst = append(append(append(dst, `"[`...), address...), `]"`...)
	} else {
		dst = append(dst, address...)
	}
	dst = append(append(append(dst, `;host="`...), h.Host...), `";proto=`...)
	dst = append(append(dst, proto...), "\r\nX-Request-Id: "...)
	return append(appendRequestID(dst, h.Get("x-request-id")), "\r\n"...)
}

// orElse returns a, or b if a is empty.
func orElse(a, b []byte) []byte {
	if len(a) > 0 {
		return a
	}
	return b
}

// maxRequestID bounds a visitor's own request id.
const maxRequestID = 64

// appendRequestID keeps an id that is harmless in every log, or generates one. The id tells
// requests apart; it is not a secret.
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

// appendFraming appends the length of the body, and the fields for this hop.
func (f *Forward) appendFraming(dst []byte) []byte {
	h := f.Head
	switch size := h.BodySize(); {
	case size > 0, size == 0 && bodyUsual(h.Method):
		dst = AppendLength(dst, size)
	case size < 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	trailers := false
	for i := range h.Fields {
		switch v := &h.Fields[i]; v.Known {
		case TrailerField:
			if h.BodySize() < 0 {
				dst = f.appendAnnounced(dst, v.Value)
			}
		case TEField:
			trailers = trailers || hasToken(v.Value, "trailers")
		}
	}
	if trailers {
		dst = append(dst, "TE: trailers\r\n"...)
	}
	if f.Upgrade != "" {
		dst = append(dst, "Connection: Upgrade\r\n"...)
		dst = AppendField(dst, "Upgrade", f.Upgrade)
	}
	return dst
}

// appendAnnounced appends the names of the announced trailers that are copied.
func (f *Forward) appendAnnounced(dst, list []byte) []byte {
	at := len(dst)
	Tokens(list, func(token string) {
		switch {
		case LookupField(token) != OtherField || !IsAll(token, TokenByte) || f.withholds([]byte(token)):
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

// hasToken reports whether a list has an element, which is in lower case.
func hasToken(list []byte, token string) (has bool) {
	if EqualFold(list, token) {
		return true
	}
	Tokens(list, func(t string) { has = has || t == token })
	return has
}

// bodyUsual reports whether a target may need to know that there is no body.
func bodyUsual(method []byte) bool {
	switch string(method) {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		return true
	}
	return false
}

// UpgradeAsked returns the protocol that a visitor wants to change to, RFC 9110 section 7.8, or ""
// if there is none. A change to h2c does not count: it concerns only the visitor and the front.
func (h *Head) UpgradeAsked() string {
	if h.HTTP10 || h.BodySize() != 0 {
		return ""
	}
	var to []byte
	asked := false
	for i := range h.Fields {
		switch f := &h.Fields[i]; f.Known {
		case UpgradeField:
			if to != nil {
				return ""
			}
			to = f.Value
		case ConnectionField:
			asked = asked || hasToken(f.Value, "upgrade")
		}
	}
	if !asked || len(to) == 0 || !IsAll(to, ValueByte) || hasToken(to, "h2c") {
		return ""
	}
	return string(to)
}

// Idempotent reports whether the request can be repeated without harm, RFC 9110 section 9.2.2.
func (h *Head) Idempotent() bool {
	switch string(h.Method) {
	case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE":
		return true
	}
	return len(h.Get("idempotency-key")) > 0
}
