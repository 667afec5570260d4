package server

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel/internal/relay"
)

// ServeHTTP is the front as a handler: it carries a visitor's request to the tunnel of its
// host. Serve and ServeTLS have limits that other servers may lack.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.init()
	t := netTurn{w: w, r: r, control: http.NewResponseController(w), stall: s.limits.Stall}
	t.read()
	s.exchange(&exchange{t: &t, r: &t.req})
	if t.aborted {
		panic(http.ErrAbortHandler)
	}
}

// netTurn is a turn over net/http.
type netTurn struct {
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	req     request
	late    []h1.Field // trailers
	aborted bool

	stall   time.Duration // longest wait for the visitor's window; over HTTP/2
	overdue *time.Timer   // of a write

	mu    sync.Mutex
	waits bool // guarded by mu: for a write
}

var _ turn = (*netTurn)(nil)

// read makes our form of the request.
func (t *netTurn) read() {
	r, q := t.r, &t.req
	q.ctx, q.http2 = r.Context(), r.ProtoMajor != 1
	q.peer, _ = netip.ParseAddrPort(r.RemoteAddr)
	q.peer = netip.AddrPortFrom(q.peer.Addr().Unmap().WithZone(""), q.peer.Port())
	if r.TLS != nil {
		q.secure, q.serverName = true, r.TLS.ServerName
	}
	target := r.RequestURI
	q.wrong = contradiction(r)
	if target == "" || target[0] != '/' && target != "*" {
		if q.http2 && q.wrong == nil { // a path is never absolute there, RFC 9113 section 8.3.1
			q.wrong = h1.Malformed("target %.40q", target)
		}
		target = r.URL.RequestURI() // it was absolute
	}
	q.Method, q.Target, q.Host = []byte(r.Method), []byte(target), []byte(r.Host)
	q.Length, q.Chunked = r.ContentLength, r.ContentLength < 0
	q.Expects = r.ContentLength != 0 && h1.EqualFold(r.Header.Get("Expect"), "100-continue")
	q.Fields = make([]h1.Field, 0, len(r.Header)+1)
	for name, values := range r.Header {
		known := h1.LookupField(name)
		for _, value := range values {
			q.Fields = append(q.Fields, h1.Field{Name: []byte(name), Value: []byte(value), Known: known})
		}
	}
	if len(r.Trailer) > 0 {
		announced := strings.Join(slices.Collect(maps.Keys(r.Trailer)), ", ")
		q.Fields = append(q.Fields, h1.Field{Name: []byte("Trailer"), Value: []byte(announced), Known: h1.TrailerField})
	}
	if q.wrong == nil && len(q.Fields) > h1.MaxVisitorFields {
		q.wrong = h1.BadRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d fields", h1.MaxVisitorFields)
	}
}

// contradiction returns the faults that net/http overlooks in a request of HTTP/2: a Host that
// differs from the authority, and a length that differs from the body's; RFC 9113 sections 8.3.1
// and 8.1.1.
func contradiction(r *http.Request) error {
	if hosts := r.Header["Host"]; len(hosts) > 1 || len(hosts) == 1 && !strings.EqualFold(hosts[0], r.Host) {
		return h1.Malformed("Host %.40q beside %.40q", hosts, r.Host)
	}
	lengths := r.Header["Content-Length"]
	if r.ProtoMajor != 1 && (len(lengths) > 1 || len(lengths) == 1 && lengths[0] != strconv.FormatInt(r.ContentLength, 10)) {
		return h1.Malformed("Content-Length %.40q of a body of %d bytes", lengths, r.ContentLength)
	}
	return nil
}

func (t *netTurn) asked() *request { return &t.req }

func (t *netTurn) Read(p []byte) (int, error) { return t.r.Body.Read(p) }

// here implements turn: net/http does not report its buffered bytes.
func (t *netTurn) here(n int64) bool { return n == 0 }

func (t *netTurn) trailers() []h1.Field {
	for name, values := range t.r.Trailer {
		for _, value := range values {
			t.late = append(t.late, h1.Field{Name: []byte(name), Value: []byte(value), Known: h1.LookupField(name)})
		}
	}
	return t.late
}

func (t *netTurn) readUntil(at time.Time) { _ = t.control.SetReadDeadline(at) }

func (t *netTurn) last() {
	if !t.req.http2 {
		t.w.Header().Set("Connection", "close")
	}
}

func (t *netTurn) duplex() { _ = t.control.EnableFullDuplex() }

func (t *netTurn) proceed() {} // Read does it

func (t *netTurn) interim(_ []byte, h *h1.Head) error {
	header := t.w.Header()
	setFields(header, h)
	t.w.WriteHeader(h.Status)
	clear(header)
	return nil
}

func (t *netTurn) begin(_ []byte, h *h1.Head, rest []byte, _ bool) error {
	header := t.w.Header()
	setFields(header, h)
	if _, typed := header["Content-Type"]; !typed {
		header["Content-Type"] = nil // net/http must not guess it
	}
	t.w.WriteHeader(h.Status)
	if len(rest) == 0 {
		return nil
	}
	return t.write(rest)
}

func (t *netTurn) write(b []byte) error {
	t.begins()
	defer t.ends()
	_, err := t.w.Write(b)
	return err
}

func (t *netTurn) flush() error {
	t.begins()
	defer t.ends()
	return t.control.Flush()
}

// begins is called before a write. Over HTTP/2 a write waits for the window of its stream, which
// the visitor may never open: net/http would wait without a bound, and hold the stream.
func (t *netTurn) begins() {
	if !t.req.http2 {
		return
	}
	t.mu.Lock()
	t.waits = true
	t.mu.Unlock()
	if t.overdue == nil {
		t.overdue = time.AfterFunc(t.stall, t.stalled)
	} else {
		t.overdue.Reset(t.stall)
	}
}

// ends is called after a write.
func (t *netTurn) ends() {
	if !t.req.http2 {
		return
	}
	t.overdue.Stop()
	t.mu.Lock()
	t.waits = false
	t.mu.Unlock()
}

// stalled resets the stream of a write that is not taken. It runs while that waits, and not
// when the turn is over: then there is no stream to be reset.
func (t *netTurn) stalled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits {
		_ = t.control.SetWriteDeadline(relay.LongAgo)
	}
}

func (t *netTurn) end(_ []byte, h *h1.Head) error {
	if t.req.http2 { // net/http writes its buffers after the turn
		_ = t.control.SetWriteDeadline(time.Now().Add(t.stall))
	}
	if h == nil {
		return nil
	}
	header := t.w.Header()
	for i := range h.Fields {
		header.Add(http.TrailerPrefix+string(h.Fields[i].Name), string(h.Fields[i].Value))
	}
	return nil
}

func (t *netTurn) abort() { t.aborted = true }

func (t *netTurn) hijack() (net.Conn, []byte, error) {
	conn, rw, err := t.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	first, err := rw.Reader.Peek(rw.Reader.Buffered())
	return conn, first, err
}

// setFields copies the fields of a head: its text once, and the values share a slice.
func setFields(header http.Header, h *h1.Head) {
	var all strings.Builder
	size := 0
	for i := range h.Fields {
		size += len(h.Fields[i].Name) + len(h.Fields[i].Value)
	}
	all.Grow(size)
	for i := range h.Fields {
		all.Write(h.Fields[i].Name)
		all.Write(h.Fields[i].Value)
	}
	text, values := all.String(), make([]string, 0, len(h.Fields))
	for i := range h.Fields {
		f := &h.Fields[i]
		name := text[:len(f.Name)]
		value := text[len(f.Name) : len(f.Name)+len(f.Value)]
		text = text[len(f.Name)+len(f.Value):]
		if f.Known == h1.TransferEncodingField {
			continue // net/http frames for its own connection
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if before := header[name]; before != nil {
			header[name] = append(before, value)
			continue
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
}
