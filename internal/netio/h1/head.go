// Package h1 implements HTTP/1.1 as a tunnel speaks it, on bytes and without I/O: which heads are
// valid (RFC 9110, RFC 9112 and section 7 of the tunnel's SPEC), where a head ends, how a head is
// rewritten for the next hop, and where a body ends.
//
// A head comes from one of three sides, and a [Form] selects the rules for it. The other side of
// the link sends heads that this package has written, so nothing is forgiven there. A visitor may
// send anything that RFC 9112 allows, except heads that two readers could take for two requests. A
// target may also make the mistakes that old services make. [Head.Parse] and [Head.ParseVisitor]
// check a head in one pass and without allocations; [Forward] and [AppendAnswerHead] write one.
//
// Values of this package are not safe for concurrent use unless they are constant. Parsed values
// borrow from the bytes that were parsed.
package h1

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// Form selects the rules of SPEC section 7 for a head.
type Form uint8

// The forms.
const (
	LinkRequest    Form = iota // a request on the link, from the server
	LinkAnswer                 // an answer on the link, from the client
	LinkTrailers               // trailers on the link, from either
	VisitorRequest             // a request from a visitor
	TargetAnswer               // an answer from a target, which may deviate from RFC 9112
	TargetTrailers             // trailers from a target
)

// fromTarget reports whether a target has written the head: its lines may end in LF alone.
func (f Form) fromTarget() bool { return f >= TargetAnswer }

// foreign reports whether another program has written the head: fields of one hop may occur.
func (f Form) foreign() bool { return f >= VisitorRequest }

// Head is the checked head of a message, RFC 9112 section 2.1. Its slices borrow from the parsed
// bytes. The zero value is ready for Parse.
type Head struct {
	Method, Target []byte // of a request
	Status         int    // of an answer
	Reason         []byte // of an answer
	HTTP10         bool   // HTTP/1.0, from a target or a visitor
	Fields         []Field

	Host          []byte
	Length        int64 // Content-Length in bytes, -1: none
	Chunked       bool  // Transfer-Encoding: chunked
	Upgrade       []byte
	TakesTrailers bool // TE: trailers
	Expects       bool // Expect
	Closes        bool // Connection: close, from a target or a visitor
	Keeps         bool // Connection: keep-alive, likewise
}

const (
	// MaxHead bounds a head on the link, in bytes. With its opening and frame header it fits the
	// first credit and the frame size that every wire peer of Paddock announces, 64 KiB.
	MaxHead = 48 << 10
	// maxHost bounds a Host: a name, RFC 1035 section 2.3.4, and a port.
	maxHost = 255 + len(":65535")
	// maxFields bounds the number of fields.
	maxFields = 256
)

// ErrMalformed is wrapped by every parse error.
var ErrMalformed = errors.New("tunnel: malformed head")

// Malformed returns an error that wraps [ErrMalformed] and has a reason.
func Malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// Parse checks b, which is one whole head with its empty line, in one pass. h may be reused; so is
// the memory of its fields. The error wraps [ErrMalformed], and h is invalid after it.
//
// hot: TestParsingAHeadDoesNotAllocate.
func (h *Head) Parse(b []byte, form Form) error {
	*h = Head{Fields: h.Fields[:0], Length: -1}
	if len(b) > MaxHead {
		return Malformed("%d bytes", len(b))
	}
	var err error
	switch form {
	case LinkRequest:
		b, err = h.requestLine(b)
	case VisitorRequest:
		b, err = h.visitorLine(b)
	case LinkAnswer, TargetAnswer:
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
		return Malformed("%d bytes behind the empty line", len(b))
	}
	return h.judge(form)
}

// cutLine cuts off the first line, without its end.
func cutLine(b []byte, lenient bool) (line, rest []byte, err error) {
	n := bytes.IndexByte(b, '\n')
	switch {
	case n < 0:
		return nil, nil, Malformed("no empty line at the end")
	case n > 0 && b[n-1] == '\r':
		return b[:n-1], b[n+1:], nil
	case lenient:
		return b[:n], b[n+1:], nil
	}
	return nil, nil, Malformed("LF without CR")
}

// requestLine reads the method and the target.
func (h *Head) requestLine(b []byte) (rest []byte, err error) {
	line, rest, err := cutLine(b, false)
	if err != nil {
		return nil, err
	}
	method, line, _ := bytes.Cut(line, space)
	target, proto, _ := bytes.Cut(line, space)
	h.Method, h.Target = method, target
	switch {
	case len(method) == 0 || !IsAll(method, TokenByte) || string(method) == "CONNECT":
		return nil, Malformed("method %.20q", method)
	case string(proto) != "HTTP/1.1":
		return nil, Malformed("version %.20q", proto)
	case len(target) == 0 || !IsAll(target, TargetByte):
		return nil, Malformed("target %.40q", target)
	case target[0] != '/' && (string(target) != "*" || string(method) != "OPTIONS"):
		return nil, Malformed("target %.40q", target)
	}
	return rest, nil
}

var space = []byte{' '}

// statusLine reads status and reason.
func (h *Head) statusLine(b []byte, form Form) (rest []byte, err error) {
	line, rest, err := cutLine(b, form.fromTarget())
	if err != nil {
		return nil, err
	}
	const prefix = len("HTTP/1.1 ")
	if len(line) < prefix+3 {
		return nil, Malformed("status line %.20q", line)
	}
	switch p := string(line[:prefix]); {
	case p == "HTTP/1.1 ":
	case p == "HTTP/1.0 " && form.fromTarget():
		h.HTTP10 = true
	default:
		return nil, Malformed("status line %.20q", line)
	}
	for _, c := range line[prefix : prefix+3] {
		if c < '0' || c > '9' {
			return nil, Malformed("status line %.20q", line)
		}
		h.Status = h.Status*10 + int(c-'0')
	}
	switch tail := line[prefix+3:]; {
	case h.Status < 100:
		return nil, Malformed("status %d", h.Status)
	case len(tail) == 0 && form.fromTarget(): // servers often omit the space
	case len(tail) == 0 || tail[0] != ' ' || !IsAll(tail, ValueByte):
		return nil, Malformed("status line %.40q", line)
	default:
		h.Reason = tail[1:]
	}
	return rest, nil
}

// field reads one line.
func (h *Head) field(line []byte, form Form) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !IsAll(line[:colon], TokenByte) {
		return Malformed("field %.40q", line)
	}
	switch {
	case len(h.Fields) == maxFields:
		return Malformed("over %d fields", maxFields)
	case form == VisitorRequest && len(h.Fields) == MaxVisitorFields:
		return BadRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d fields", MaxVisitorFields)
	}
	f := Field{Name: line[:colon], Value: trim(line[colon+1:])}
	if !IsAll(f.Value, ValueByte) {
		return Malformed("value of %.40q", f.Name)
	}
	if f.Known = LookupField(f.Name); f.Known != OtherField {
		if err := h.note(&f, form); err != nil {
			return err
		}
	}
	h.Fields = append(h.Fields, f)
	return nil
}

// note records a known field.
func (h *Head) note(f *Field, form Form) error {
	if form == LinkTrailers || form == TargetTrailers {
		if form == TargetTrailers {
			return nil // not forwarded
		}
		return Malformed("%s in trailers", f.Name)
	}
	switch f.Known {
	case HostField:
		if h.Host != nil || (form == LinkRequest || form == VisitorRequest) && !ValidHost(f.Value) {
			return Malformed("Host %.40q", f.Value)
		}
		h.Host = f.Value
	case ContentLengthField:
		n, ok := parseLength(f.Value)
		if !ok || h.Length >= 0 {
			return Malformed("Content-Length %.40q", f.Value)
		}
		h.Length = n
	case TransferEncodingField:
		if h.Chunked || !EqualFold(f.Value, "chunked") {
			if form == VisitorRequest && knownCodings(f.Value) {
				return BadRequest(http.StatusNotImplemented, "Transfer-Encoding %.40q", f.Value)
			}
			return Malformed("Transfer-Encoding %.40q", f.Value)
		}
		h.Chunked = true
	case UpgradeField:
		if h.Upgrade != nil && !form.foreign() {
			return Malformed("Upgrade twice")
		}
		h.Upgrade = f.Value
	case TEField:
		h.TakesTrailers = EqualFold(f.Value, "trailers")
		if !h.TakesTrailers && !form.foreign() {
			return Malformed("TE %.40q", f.Value)
		}
	case ExpectField:
		if h.Expects = true; form == VisitorRequest && !EqualFold(f.Value, "100-continue") {
			return BadRequest(http.StatusExpectationFailed, "Expect %.40q", f.Value)
		}
	case ConnectionField:
		return h.noteConnection(f, form)
	case KeepAliveField, ProxyConnectionField, ProxyAuthenticateField, ProxyAuthorizationField:
		if !form.foreign() {
			return Malformed("%s", f.Name)
		}
	}
	return nil
}

// noteConnection reads a field Connection. On the link it may only be Upgrade.
func (h *Head) noteConnection(f *Field, form Form) error {
	if !form.foreign() {
		if !EqualFold(f.Value, "upgrade") {
			return Malformed("Connection %.40q", f.Value)
		}
		return nil
	}
	switch {
	case EqualFold(f.Value, "close"):
		h.Closes = true
	case EqualFold(f.Value, "keep-alive"):
		h.Keeps = true
	default:
		Tokens(f.Value, func(token string) {
			h.Closes = h.Closes || token == "close"
			h.Keeps = h.Keeps || token == "keep-alive"
		})
	}
	return nil
}

// judge checks rules about several fields.
func (h *Head) judge(form Form) error {
	switch {
	case h.Chunked && h.Length >= 0:
		return Malformed("Content-Length and Transfer-Encoding")
	case h.Chunked && h.HTTP10:
		return Malformed("Transfer-Encoding in HTTP/1.0")
	case (form == LinkRequest || form == VisitorRequest) && h.Host == nil:
		return Malformed("no Host")
	case form == LinkAnswer && (h.Status < 200 || h.Status == 204) && (h.Chunked || h.Length >= 0):
		return Malformed("a length with status %d", h.Status)
	case form == LinkAnswer && (h.Status == 101) != (h.Upgrade != nil):
		return Malformed("status %d and Upgrade %.40q", h.Status, h.Upgrade)
	}
	return nil
}

// BodySize returns the length of a request's body in bytes, or -1 if it is unknown.
func (h *Head) BodySize() int64 {
	if h.Chunked {
		return -1
	}
	return max(h.Length, 0)
}

// Get returns the value of the first field with a name, which is in lower case, or nil.
func (h *Head) Get(name string) []byte {
	for i := range h.Fields {
		if f := &h.Fields[i]; EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return nil
}

// Joined returns the values of all fields with a name, which is in lower case, as one list: RFC
// 9110 section 5.3. The list is allocated if there are several fields; otherwise it is borrowed, or
// nil.
func (h *Head) Joined(name string) (list []byte) {
	for i := range h.Fields {
		if f := &h.Fields[i]; EqualFold(f.Name, name) {
			if len(list) > 0 {
				list = append(list, ", "...)
			}
			list = append(list, f.Value...)
		}
	}
	return list
}

// connectionNames returns the names in the fields Connection, in lower case. Fields with these
// names apply to one connection only: RFC 9110 section 7.6.1. The most common names are omitted.
func (h *Head) connectionNames() (names []string) {
	for i := range h.Fields {
		if f := &h.Fields[i]; f.Known == ConnectionField && !EqualFold(f.Value, "keep-alive") && !EqualFold(f.Value, "close") {
			Tokens(f.Value, func(token string) { names = append(names, token) })
		}
	}
	return names
}

// isNamed reports whether a name is in a list, which is in lower case.
func isNamed[T string | []byte](name T, list []string) bool {
	return slices.ContainsFunc(list, func(n string) bool { return EqualFold(name, n) })
}

// Path returns the target without its query.
func (h *Head) Path() string {
	path, _, _ := bytes.Cut(h.Target, []byte{'?'})
	return string(path)
}

// Bodiless reports whether an answer has no body, whatever its fields are: RFC 9112 section 6.3.
// toHead reports that the request was a HEAD.
func (h *Head) Bodiless(toHead bool) bool {
	return toHead || h.Status < 200 || h.Status == 204 || h.Status == 304
}

// parseLength reads a Content-Length of 1 to 18 digits, so that sums stay within 64 bits.
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

// ValidHost reports whether a Host is a name, RFC 9110 section 7.2: no space, no list, no path.
func ValidHost[T string | []byte](host T) bool {
	if len(host) == 0 || len(host) > maxHost {
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

// trim removes spaces and tabs at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
