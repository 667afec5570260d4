package wiredump

import (
	"fmt"
	"slices"
	"strconv"

	"paddock/wire"
)

// Line is one line of a dump: a frame, or an event. Its JSON is the output of Options.JSON; fields
// that do not apply are absent.
type Line struct {
	Conn    uint64   `json:"conn,omitempty"` // of a relay, from 1
	From    string   `json:"from,omitempty"` // of a relay: dialer or acceptor
	Seconds *float64 `json:"seconds,omitempty"`
	Offset  int64    `json:"offset"` // in the direction's bytes

	// Event is "" for a frame. Otherwise it is preface, broken, incomplete or long (a frame of
	// which only the header is shown), or, of a relay, opened, failed, end, closed or dropped.
	Event  string `json:"event,omitempty"`
	Reason string `json:"reason,omitempty"`
	Count  uint64 `json:"count,omitempty"` // dropped: lines; closed: bytes; ACK; POSTS: bodies

	Type       string   `json:"type,omitempty"`
	ID         uint32   `json:"id,omitempty"`
	Slot       string   `json:"slot,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	KindNumber uint32   `json:"kind_number,omitempty"`
	Flags      []string `json:"flags,omitempty"`
	Length     int      `json:"length"` // of the payload
	Credit     uint32   `json:"credit,omitempty"`
	Code       string   `json:"code,omitempty"`
	CodeNumber uint16   `json:"code_number,omitempty"`
	NotStarted bool     `json:"not_started,omitempty"`
	RetryAfter uint32   `json:"retry_after_ms,omitempty"`
	Jitter     uint32   `json:"jitter_ms,omitempty"`
	Text       string   `json:"text,omitempty"`
	Meta       string   `json:"meta,omitempty"`    // CBOR, diagnostic notation
	Content    string   `json:"content,omitempty"` // of HELLO, BIND, error details; likewise
	Bodies     []Body   `json:"bodies,omitempty"`

	typ wire.Type
}

// head returns a line with the contents of a header.
func (d *reader) head(h wire.Header) *Line {
	l := &Line{Offset: d.offset, Type: h.Type().String(), ID: h.ID(), Length: h.Len(), typ: h.Type()}
	l.Flags = flagNames(h)
	switch h.Type() {
	case wire.REQ, wire.RES, wire.OPEN, wire.DATA, wire.RESET, wire.CREDIT, wire.CANCEL:
		if s := wire.Slot(h.ID()); s.Valid() {
			l.Slot = s.String()
		}
	}
	return l
}

// line returns the line of a whole frame.
func (d *reader) line(h wire.Header, f *wire.Frame) *Line {
	l := d.head(h)
	var codec string
	l.KindNumber, l.Kind, codec = d.names.learn(d.from, f)
	if f.Meta.Codec != nil {
		codec = string(f.Meta.Codec)
	}
	l.Meta = diagnosticMap(f.Meta.Raw, metaKeys)
	l.Credit, l.Count, l.Text = f.Credit, f.Count, string(f.Text)
	if f.Code != 0 {
		l.Code, l.CodeNumber = f.Code.String(), uint16(f.Code)
	}
	l.NotStarted, l.RetryAfter, l.Jitter = f.NotStarted, f.RetryAfter, f.Jitter
	switch f.Type {
	case wire.HELLO:
		l.Content = diagnosticMap(f.Body, helloKeys)
	case wire.BIND:
		l.Text = ""
		l.Content = fmt.Sprintf("[%q]", f.Text)
		if len(f.Codec) > 0 {
			l.Content = fmt.Sprintf("[%q, %s]", f.Text, strconv.QuoteToASCII(string(f.Codec)))
		}
	case wire.POSTS:
		l.Bodies = d.batch(f.Body, codec)
	case wire.RES:
		if f.Has(wire.FlagErr) {
			l.Content, _ = diagnostic(f.Body)
			break
		}
		fallthrough
	case wire.POST, wire.REQ, wire.OPEN, wire.DATA, wire.EXTENSION:
		if slices.Contains(l.Flags, "COMP") {
			codec = "compressed"
		}
		if f.Type == wire.DATA || f.Type == wire.OPEN || f.Type == wire.EXTENSION {
			codec = "bytes" // a frame is not a unit of a stream
		}
		l.Bodies = []Body{showBody(f.Body, codec, d.options.Body)}
	case wire.PING:
		l.Bodies = []Body{showBody(f.Body, "bytes", wire.HeaderSize)}
	}
	return l
}

// batch shows bodies until the limit of a frame is reached, then only the number of the others.
func (d *reader) batch(batch []byte, codec string) (bodies []Body) {
	for left := d.options.Body; len(batch) > 0 && left > 0; {
		var b []byte
		b, batch = wire.CutPost(batch)
		bodies = append(bodies, showBody(b, codec, left))
		left -= max(1, len(b))
	}
	return bodies
}

// flagsByType holds the names of the flag bits in SPEC; "" is reserved.
var flagsByType = [16][4]string{
	wire.POST:      {"ACK", "", "", "COMP"},
	wire.POSTS:     {"ACK", "", "", "COMP"},
	wire.REQ:       {"", "MORE", "META", "COMP"},
	wire.RES:       {"ERR", "MORE", "META", "COMP"},
	wire.OPEN:      {"END", "CONFIRM", "META", ""},
	wire.DATA:      {"END", "MORE", "", "COMP"},
	wire.RESET:     {"STOP", "", "", ""},
	wire.PING:      {"PONG", "", "", ""},
	wire.EXTENSION: {"1", "2", "4", "8"},
	wire.CRITICAL:  {"1", "2", "4", "8"},
}

func flagNames(h wire.Header) (names []string) {
	for bit, name := range flagsByType[h.Type()] {
		if h.Flags()&(1<<bit) != 0 {
			if name == "" {
				name = "reserved-" + strconv.Itoa(1<<bit)
			}
			names = append(names, name)
		}
	}
	return names
}
