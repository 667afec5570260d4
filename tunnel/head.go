package tunnel

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
)

// form is which of the rules of SPEC section 7 a head is judged by.
type form uint8

const (
	requestForm  form = iota // from the server
	answerForm               // from the client
	trailersForm             // from either
	visitorForm              // a request from a visitor
	targetForm               // an answer from a target, who keeps to RFC 9112 more or less
	endForm                  // trailers from a target
)

// fromTarget says whether a target has written the head: lines may end in LF alone.
func (f form) fromTarget() bool { return f >= targetForm }

// foreign says whether the head has not been written by one of us: fields of one hop
// occur.
func (f form) foreign() bool { return f >= visitorForm }

// head is one that has been checked. All its slices are borrowed.
type head struct {
	method, target []byte // of a request
	status         int    // of an answer
	reason         []byte // of an answer
	old            bool   // HTTP/1.0, from a target or a visitor
	fields         []field

	host     []byte
	length   int64 // Content-Length, -1: none
	chunked  bool  // Transfer-Encoding: chunked
	upgrade  []byte
	trailers bool // TE: trailers
	expects  bool // Expect
	closes   bool // Connection: close, from a target or a visitor
	keeps    bool // Connection: keep-alive, likewise
}

// maxFields bounds the fields of a head.
const maxFields = 256

// errHead is wrapped by what parse returns.
var errHead = errors.New("tunnel: malformed head")

func badHead(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errHead, fmt.Sprintf(format, args...))
}

// parse judges b, which is one whole head, in one pass. h may have been used before; its
// fields' memory is used again.
//
// hot: TestParsingAHeadDoesNotAllocate.
func (h *head) parse(b []byte, form form) error {
	*h = head{fields: h.fields[:0], length: -1}
	if len(b) > maxHead {
		return badHead("%d bytes", len(b))
	}
	var err error
	switch form {
	case requestForm:
		b, err = h.requestLine(b)
	case visitorForm:
		b, err = h.visitorLine(b)
	case answerForm, targetForm:
		b, err = h.statusLine(b, form)
	}
	if err != nil {
		return err
	}
	for {
		line, rest, err := cutLine(b, form.fromTarget())
		if err != nil {
			return err
		}
		if b = rest; len(line) == 0 {
			break
		}
		if err := h.field(line, form); err != nil {
			return err
		}
	}
	if len(b) > 0 {
		return badHead("%d bytes behind the empty line", len(b))
	}
	return h.judge(form)
}

// cutLine cuts the first line off, without its end.
func cutLine(b []byte, lenient bool) (line, rest []byte, err error) {
	n := bytes.IndexByte(b, '\n')
	switch {
	case n < 0:
		return nil, nil, badHead("no empty line at the end")
	case n > 0 && b[n-1] == '\r':
		return b[:n-1], b[n+1:], nil
	case lenient:
		return b[:n], b[n+1:], nil
	}
	return nil, nil, badHead("LF without CR")
}

// requestLine reads the method and the target.
func (h *head) requestLine(b []byte) (rest []byte, err error) {
	line, rest, err := cutLine(b, false)
	if err != nil {
		return nil, err
	}
	method, line, _ := bytes.Cut(line, space)
	target, proto, _ := bytes.Cut(line, space)
	h.method, h.target = method, target
	switch {
	case len(method) == 0 || !isAll(method, tokenByte) || string(method) == "CONNECT":
		return nil, badHead("method %.20q", method)
	case string(proto) != "HTTP/1.1":
		return nil, badHead("version %.20q", proto)
	case len(target) == 0 || !isAll(target, targetByte):
		return nil, badHead("target %.40q", target)
	case target[0] != '/' && (string(target) != "*" || string(method) != "OPTIONS"):
		return nil, badHead("target %.40q", target)
	}
	return rest, nil
}

var space = []byte{' '}

// statusLine reads status and reason.
func (h *head) statusLine(b []byte, form form) (rest []byte, err error) {
	line, rest, err := cutLine(b, form.fromTarget())
	if err != nil {
		return nil, err
	}
	const prefix = len("HTTP/1.1 ")
	if len(line) < prefix+3 {
		return nil, badHead("status line %.20q", line)
	}
	switch p := string(line[:prefix]); {
	case p == "HTTP/1.1 ":
	case p == "HTTP/1.0 " && form.fromTarget():
		h.old = true
	default:
		return nil, badHead("status line %.20q", line)
	}
	for _, c := range line[prefix : prefix+3] {
		if c < '0' || c > '9' {
			return nil, badHead("status line %.20q", line)
		}
		h.status = h.status*10 + int(c-'0')
	}
	switch tail := line[prefix+3:]; {
	case h.status < 100:
		return nil, badHead("status %d", h.status)
	case len(tail) == 0 && form.fromTarget(): // the space is often forgotten
	case len(tail) == 0 || tail[0] != ' ' || !isAll(tail, valueByte):
		return nil, badHead("status line %.40q", line)
	default:
		h.reason = tail[1:]
	}
	return rest, nil
}

// field reads one line.
func (h *head) field(line []byte, form form) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !isAll(line[:colon], tokenByte) {
		return badHead("field %.40q", line)
	}
	switch {
	case len(h.fields) == maxFields:
		return badHead("over %d fields", maxFields)
	case form == visitorForm && len(h.fields) == maxVisitorFields:
		return badRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d fields", maxVisitorFields)
	}
	f := field{name: line[:colon], value: trim(line[colon+1:])}
	if !isAll(f.value, valueByte) {
		return badHead("value of %.40q", f.name)
	}
	if f.known = lookupField(f.name); f.known != otherField {
		if err := h.note(&f, form); err != nil {
			return err
		}
	}
	h.fields = append(h.fields, f)
	return nil
}

// note takes a field that means something to us.
func (h *head) note(f *field, form form) error {
	if form == trailersForm || form == endForm {
		if form == endForm {
			return nil // it is not forwarded
		}
		return badHead("%s in trailers", f.name)
	}
	switch f.known {
	case fieldHost:
		if h.host != nil || (form == requestForm || form == visitorForm) && !validHost(f.value) {
			return badHead("Host %.40q", f.value)
		}
		h.host = f.value
	case fieldContentLength:
		n, ok := parseLength(f.value)
		if !ok || h.length >= 0 {
			return badHead("Content-Length %.40q", f.value)
		}
		h.length = n
	case fieldTransferEncoding:
		if h.chunked || !equalFold(f.value, "chunked") {
			if form == visitorForm && knownCodings(f.value) {
				return badRequest(http.StatusNotImplemented, "Transfer-Encoding %.40q", f.value)
			}
			return badHead("Transfer-Encoding %.40q", f.value)
		}
		h.chunked = true
	case fieldUpgrade:
		if h.upgrade != nil && !form.foreign() {
			return badHead("Upgrade twice")
		}
		h.upgrade = f.value
	case fieldTE:
		h.trailers = equalFold(f.value, "trailers")
		if !h.trailers && !form.foreign() {
			return badHead("TE %.40q", f.value)
		}
	case fieldExpect:
		if h.expects = true; form == visitorForm && !equalFold(f.value, "100-continue") {
			return badRequest(http.StatusExpectationFailed, "Expect %.40q", f.value)
		}
	case fieldConnection:
		return h.noteConnection(f, form)
	case fieldKeepAlive, fieldProxyConnection, fieldProxyAuthenticate, fieldProxyAuthorization:
		if !form.foreign() {
			return badHead("%s", f.name)
		}
	}
	return nil
}

// noteConnection reads what a field Connection says. On the link it is Upgrade and
// nothing else.
func (h *head) noteConnection(f *field, form form) error {
	if !form.foreign() {
		if !equalFold(f.value, "upgrade") {
			return badHead("Connection %.40q", f.value)
		}
		return nil
	}
	switch {
	case equalFold(f.value, "close"):
		h.closes = true
	case equalFold(f.value, "keep-alive"):
		h.keeps = true
	default:
		tokens(f.value, func(token string) {
			h.closes = h.closes || token == "close"
			h.keeps = h.keeps || token == "keep-alive"
		})
	}
	return nil
}

// judge checks what concerns several fields.
func (h *head) judge(form form) error {
	switch {
	case h.chunked && h.length >= 0:
		return badHead("Content-Length and Transfer-Encoding")
	case h.chunked && h.old:
		return badHead("Transfer-Encoding in HTTP/1.0")
	case (form == requestForm || form == visitorForm) && h.host == nil:
		return badHead("no Host")
	case form == answerForm && (h.status < 200 || h.status == 204) && (h.chunked || h.length >= 0):
		return badHead("a length with status %d", h.status)
	case form == answerForm && (h.status == 101) != (h.upgrade != nil):
		return badHead("status %d and Upgrade %.40q", h.status, h.upgrade)
	}
	return nil
}

// bodiless says whether an answer has no body whatever its fields say.
func (h *head) bodiless(toHead bool) bool {
	return toHead || h.status < 200 || h.status == 204 || h.status == 304
}

// parseLength reads a Content-Length: 1 to 18 digits, so that sums stay in 64 bits.
func parseLength(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// validHost says whether a Host names something: no space, no list, no path.
func validHost[T string | []byte](host T) bool {
	if len(host) == 0 || len(host) > maxServerName+len(":65535") {
		return false
	}
	for i := range len(host) {
		switch c := host[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

// trim cuts spaces and tabs off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
