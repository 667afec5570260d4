package tunnel

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"paddock/wire"
)

// h2Request is the request as net/http sends it.
func (v *visit) h2Request(up *h2Body) (*http.Request, error) {
	h := &v.req
	if h.upgrade != nil {
		return nil, refused(wire.Unimplemented, "a target of HTTP/2 has no upgrade")
	}
	if !v.target.direct() {
		if err := h.parse(v.whole[:headEnd(v.whole, 0)], requestForm); err != nil {
			return nil, refused(wire.InvalidArgument, "%v", err)
		}
	}
	r := &http.Request{
		Method: string(h.method), URL: v.h2URL(), Host: string(h.host),
		Header: make(http.Header, len(h.fields)), ContentLength: max(h.length, 0),
	}
	for i := range h.fields {
		f := &h.fields[i]
		switch f.known {
		case fieldHost, fieldContentLength, fieldTransferEncoding:
		case fieldTrailer:
			r.Trailer = announced(r.Trailer, f.value)
		default:
			name := textproto.CanonicalMIMEHeaderKey(string(f.name))
			r.Header[name] = append(r.Header[name], string(f.value))
		}
	}
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // else net/http says its own
	}
	if up != nil {
		up.trailer = r.Trailer
		r.Body = up
		if h.chunked {
			r.ContentLength = -1
		}
	}
	return r, nil
}

// h2URL is the request's target as it was written.
func (v *visit) h2URL() *url.URL {
	at := &url.URL{Scheme: "http", Host: v.target.address, Opaque: string(v.req.target)}
	if v.target.secure != nil {
		at.Scheme = "https"
	}
	if strings.HasPrefix(at.Opaque, "//") { // else net/url would take what follows for a host
		at.Opaque = "//" + string(v.req.host) + at.Opaque
	}
	return at
}

// announced adds the names of a list to trailers.
func announced(trailer http.Header, list []byte) http.Header {
	if trailer == nil {
		trailer = http.Header{}
	}
	tokens(list, func(token string) {
		if isAll(token, tokenByte) && lookupField(token) == otherField {
			trailer[textproto.CanonicalMIMEHeaderKey(token)] = nil
		}
	})
	return trailer
}

// appendH2Head writes the head of a target's answer, as SPEC section 7 has it.
func appendH2Head(dst []byte, res *http.Response, toHead bool) []byte {
	dst = appendH2Fields(appendStatus(dst, res.StatusCode), res.Header)
	for i, name := range sortedNames(res.Trailer) {
		if i == 0 {
			dst = append(dst, "Trailer: "...)
		} else {
			dst = append(dst, ", "...)
		}
		dst = append(dst, name...)
	}
	if len(res.Trailer) > 0 {
		dst = append(dst, "\r\n"...)
	}
	h := head{status: res.StatusCode}
	_, said := res.Header["Content-Length"]
	switch {
	case res.StatusCode == http.StatusNoContent:
	case res.ContentLength >= 0 && (said || !h.bodiless(toHead)):
		dst = appendLength(dst, res.ContentLength)
	case h.bodiless(toHead):
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// appendStatus writes a status line.
func appendStatus(dst []byte, status int) []byte {
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	return append(append(append(dst, ' '), http.StatusText(status)...), "\r\n"...)
}

// appendH2Fields writes fields, but for those of a connection, and what says a length.
func appendH2Fields(dst []byte, fields map[string][]string) []byte {
	for _, name := range sortedNames(fields) {
		if known := lookupField(name); known.hopByHop() || known == fieldContentLength || known == fieldTrailer || known == fieldHost {
			continue
		}
		for _, value := range fields[name] {
			dst = appendField(dst, name, value)
		}
	}
	return dst
}

// sortedNames are the names of fields in order: the same answer has the same head.
func sortedNames(fields map[string][]string) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
