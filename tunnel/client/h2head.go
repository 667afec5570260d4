package client

import (
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// h2Request is the request as net/http sends it.
func (v *visit) h2Request(up *h2Body) (*http.Request, error) {
	h := &v.req
	if h.Upgrade != nil {
		return nil, message.Refused(wire.Unimplemented, "a target of HTTP/2 has no upgrade")
	}
	if !v.target.direct() {
		if err := h.Parse(v.whole[:h1.End(v.whole, 0)], h1.LinkRequest); err != nil {
			return nil, message.Refused(wire.InvalidArgument, "%v", err)
		}
	}
	r := &http.Request{
		Method: string(h.Method), URL: v.h2URL(), Host: string(h.Host),
		Header: make(http.Header, len(h.Fields)), ContentLength: max(h.Length, 0),
	}
	for i := range h.Fields {
		f := &h.Fields[i]
		switch f.Known {
		case h1.HostField, h1.ContentLengthField, h1.TransferEncodingField:
		case h1.TrailerField:
			r.Trailer = announced(r.Trailer, f.Value)
		default:
			name := textproto.CanonicalMIMEHeaderKey(string(f.Name))
			r.Header[name] = append(r.Header[name], string(f.Value))
		}
	}
	if r.Header["User-Agent"] == nil {
		r.Header["User-Agent"] = []string{""} // otherwise net/http adds its own
	}
	if up != nil {
		up.trailer = r.Trailer
		r.Body = up
		if h.Chunked {
			r.ContentLength = -1
		}
	}
	return r, nil
}

// h2URL is the request's target as it was written.
func (v *visit) h2URL() *url.URL {
	at := &url.URL{Scheme: "http", Host: v.target.address, Opaque: string(v.req.Target)}
	if v.target.secure != nil {
		at.Scheme = "https"
	}
	if strings.HasPrefix(at.Opaque, "//") { // otherwise net/url would take the rest for a host
		at.Opaque = "//" + string(v.req.Host) + at.Opaque
	}
	return at
}

// announced adds the names of a list to trailers.
func announced(trailer http.Header, list []byte) http.Header {
	if trailer == nil {
		trailer = http.Header{}
	}
	h1.Tokens(list, func(token string) {
		if h1.IsAll(token, h1.TokenByte) && h1.LookupField(token) == h1.OtherField {
			trailer[textproto.CanonicalMIMEHeaderKey(token)] = nil
		}
	})
	return trailer
}

// appendH2Head writes the head of a target's answer, as SPEC section 7 has it.
func appendH2Head(dst []byte, res *http.Response, toHead bool) []byte {
	dst = appendH2Fields(h1.AppendStatus(dst, res.StatusCode), res.Header)
	if len(res.Trailer) > 0 {
		dst = append(dst, "Trailer: "+strings.Join(sortedNames(res.Trailer), ", ")+"\r\n"...)
	}
	h := h1.Head{Status: res.StatusCode}
	_, said := res.Header["Content-Length"]
	switch {
	case res.StatusCode == http.StatusNoContent:
	case res.ContentLength >= 0 && (said || !h.Bodiless(toHead)):
		dst = h1.AppendLength(dst, res.ContentLength)
	case h.Bodiless(toHead):
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// appendH2Fields writes fields, except those of a connection and those of the length.
func appendH2Fields(dst []byte, fields map[string][]string) []byte {
	for _, name := range sortedNames(fields) {
		if known := h1.LookupField(name); known.HopByHop() || known == h1.ContentLengthField || known == h1.TrailerField || known == h1.HostField {
			continue
		}
		for _, value := range fields[name] {
			dst = h1.AppendField(dst, name, value)
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
