package h1

import (
	"net/http"
	"strconv"
)

// AppendAnswerHead appends the head of a target's answer for the next hop, as SPEC section 7
// requires: without the fields of the target's connection, and with its length stated once. toHead
// reports that the request was a HEAD. length is the body's length in bytes if all of the body is
// known, else -1.
func AppendAnswerHead(dst []byte, h *Head, toHead bool, length int64) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(h.Status), 10)
	dst = append(append(dst, ' '), h.Reason...)
	dst = append(dst, "\r\n"...)
	named := h.connectionNames()
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.Known.HopByHop() || f.Known == ContentLengthField || isNamed(f.Name, named) {
			continue
		}
		dst = AppendField(dst, f.Name, f.Value)
	}
	switch {
	case h.Status == 101:
		dst = append(append(append(dst, "Connection: Upgrade\r\nUpgrade: "...), h.Upgrade...), "\r\n"...)
	case h.Status < 200, h.Status == 204:
	case h.Length >= 0 && h.Bodiless(toHead): // the length that a GET would have
		dst = AppendLength(dst, h.Length)
	case h.Bodiless(toHead):
	case h.Length >= 0:
		dst = AppendLength(dst, h.Length)
	case length >= 0:
		dst = AppendLength(dst, length)
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// AppendLength appends the field Content-Length for n bytes.
func AppendLength(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(append(dst, "Content-Length: "...), n, 10), "\r\n"...)
}

// AppendTrailers appends the trailers after the last chunk, except for the known fields, and the
// empty line.
func AppendTrailers(dst []byte, h *Head) []byte {
	for i := range h.Fields {
		f := &h.Fields[i]
		if f.Known != OtherField {
			continue
		}
		dst = AppendField(dst, f.Name, f.Value)
	}
	return append(dst, "\r\n"...)
}

// AppendUnchunked appends the head h, whose text is given, without its empty line and without the
// fields that a visitor of HTTP/1.0 does not understand.
func AppendUnchunked(dst, text []byte, h *Head) []byte {
	line, _, _ := cutLine(text, false)
	dst = append(append(dst, line...), "\r\n"...)
	for i := range h.Fields {
		if f := &h.Fields[i]; f.Known != TransferEncodingField && f.Known != TrailerField {
			dst = AppendField(dst, f.Name, f.Value)
		}
	}
	return dst
}

// AppendStatus appends a status line.
func AppendStatus(dst []byte, status int) []byte {
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	return append(append(append(dst, ' '), http.StatusText(status)...), "\r\n"...)
}

// AppendField appends one field.
func AppendField[N, V string | []byte](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}
