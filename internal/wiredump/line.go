package wiredump

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/wire/frame"
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

	typ frame.Type
}

// head returns a line with the contents of a header.
func (d *reader) head(h frame.Header) *Line {
	l := &Line{Offset: d.offset, Type: h.Type().String(), ID: h.ID(), Length: h.Len(), typ: h.Type()}
	l.Flags = flagNames(h)
	switch h.Type() {
	case frame.REQ, frame.RES, frame.OPEN, frame.DATA, frame.RESET, frame.CREDIT, frame.CANCEL:
		if s := frame.Slot(h.ID()); s.Valid() {
			l.Slot = s.String()
		}
	}
	return l
}

// line returns the line of a whole frame.
func (d *reader) line(h frame.Header, f *frame.Frame) *Line {
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
	case frame.HELLO:
		l.Content = diagnosticMap(f.Body, helloKeys)
	case frame.BIND:
		l.Text = ""
		l.Content = fmt.Sprintf("[%q]", f.Text)
		if len(f.Codec) > 0 {
			l.Content = fmt.Sprintf("[%q, %s]", f.Text, strconv.QuoteToASCII(string(f.Codec)))
		}
	case frame.POSTS:
		l.Bodies = d.batch(f.Body, codec)
	case frame.RES:
		if f.Has(frame.FlagErr) {
			l.Content, _ = cbor.Diagnose(f.Body) // "" if it is not well-formed
			break
		}
		fallthrough
	case frame.POST, frame.REQ, frame.OPEN, frame.DATA, frame.EXTENSION:
		if slices.Contains(l.Flags, "COMP") {
			codec = "compressed"
		}
		if f.Type == frame.DATA || f.Type == frame.OPEN || f.Type == frame.EXTENSION {
			codec = "bytes" // a frame is not a unit of a stream
		}
		l.Bodies = []Body{showBody(f.Body, codec, d.options.Body)}
	case frame.PING:
		l.Bodies = []Body{showBody(f.Body, "bytes", frame.HeaderSize)}
	}
	return l
}

// batch shows bodies until the limit of a frame is reached, then only the number of the others.
func (d *reader) batch(batch []byte, codec string) (bodies []Body) {
	for left := d.options.Body; len(batch) > 0 && left > 0; {
		var b []byte
		b, batch = frame.CutPost(batch)
		bodies = append(bodies, showBody(b, codec, left))
		left -= max(1, len(b))
	}
	return bodies
}

// flagsByType holds the names of the flag bits in SPEC; "" is reserved.
var flagsByType = [16][4]string{
	frame.POST:      {"ACK", "", "", "COMP"},
	frame.POSTS:     {"ACK", "", "", "COMP"},
	frame.REQ:       {"", "MORE", "META", "COMP"},
	frame.RES:       {"ERR", "MORE", "META", "COMP"},
	frame.OPEN:      {"END", "CONFIRM", "META", ""},
	frame.DATA:      {"END", "MORE", "", "COMP"},
	frame.RESET:     {"STOP", "", "", ""},
	frame.PING:      {"PONG", "", "", ""},
	frame.EXTENSION: {"1", "2", "4", "8"},
	frame.CRITICAL:  {"1", "2", "4", "8"},
}

func flagNames(h frame.Header) (names []string) {
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
