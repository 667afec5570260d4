package tunnel

import (
	"strconv"
)

// appendAnswerHead writes a target's head anew, as SPEC section 7 has it: the fields of
// its connection gone, its length said once. length is that of the body where all of it
// is known, else -1.
func appendAnswerHead(dst []byte, h *head, toHead bool, length int64) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(h.status), 10)
	dst = append(append(dst, ' '), h.reason...)
	dst = append(dst, "\r\n"...)
	var named []string
	for i := range h.fields {
		if f := &h.fields[i]; f.known == fieldConnection && !equalFold(f.value, "keep-alive") && !equalFold(f.value, "close") {
			tokens(f.value, func(token string) { named = append(named, token) })
		}
	}
	for i := range h.fields {
		f := &h.fields[i]
		if f.known.hopByHop() || f.known == fieldContentLength || isNamed(f.name, named) {
			continue
		}
		dst = append(append(append(dst, f.name...), ": "...), f.value...)
		dst = append(dst, "\r\n"...)
	}
	switch {
	case h.status == 101:
		dst = append(append(append(dst, "Connection: Upgrade\r\nUpgrade: "...), h.upgrade...), "\r\n"...)
	case h.status < 200, h.status == 204:
	case h.length >= 0 && h.bodiless(toHead): // what a GET would have
		dst = appendLength(dst, h.length)
	case h.bodiless(toHead):
	case h.length >= 0:
		dst = appendLength(dst, h.length)
	case length >= 0:
		dst = appendLength(dst, length)
	default:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}

func appendLength(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(append(dst, "Content-Length: "...), n, 10), "\r\n"...)
}

// isNamed says whether a name is one of a list in lower case.
func isNamed[T string | []byte](name T, list []string) bool {
	for _, n := range list {
		if equalFold(name, n) {
			return true
		}
	}
	return false
}

// appendTrailers writes what came behind the last chunk, but for what means something.
func appendTrailers(dst []byte, h *head) []byte {
	for i := range h.fields {
		f := &h.fields[i]
		if f.known != otherField {
			continue
		}
		dst = append(append(append(dst, f.name...), ": "...), f.value...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}
