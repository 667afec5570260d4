package events

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Text is the JSON of an event. Long properties of its fence and of its object are not copied: all
// events with them share their bytes.
type Text struct {
	own    []byte // without the shared parts
	shared []part // ascending by place
}

// part is a piece of shared JSON, and its place: before the byte of Text.own with this index.
type part struct {
	at   int
	json json.RawMessage
}

// sharedFrom is the length in bytes from which properties are shared.
const sharedFrom = 1 << 10

// Plain returns b as a text that shares nothing.
func Plain(b []byte) Text { return Text{own: b} }

// Len returns the length in bytes.
func (t *Text) Len() int {
	n := len(t.own)
	for i := range t.shared {
		n += len(t.shared[i].json)
	}
	return n
}

// Append appends the text to dst.
func (t *Text) Append(dst []byte) []byte {
	dst = slices.Grow(dst, t.Len())
	from := 0
	for i := range t.shared {
		p := &t.shared[i]
		dst = append(append(dst, t.own[from:p.at]...), p.json...)
		from = p.at
	}
	return append(dst, t.own[from:]...)
}

// Bytes returns the text in one piece, which must not be changed.
func (t *Text) Bytes() []byte {
	if len(t.shared) == 0 {
		return t.own
	}
	return t.Append(nil)
}

// PlainJSON encodes v as [json.Marshal] does, but leaves <, > and & as they are: the texts of the
// platform are not embedded in HTML, and people read them in errors and names.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// AppendServerSent appends a record as a server-sent event of this kind.
func AppendServerSent(dst []byte, cursor, kind string, json []byte) []byte {
	dst = append(append(dst, "id: "...), cursor...)
	dst = append(append(dst, "\nevent: "...), kind...)
	dst = append(append(dst, "\ndata: "...), json...)
	return append(dst, "\n\n"...)
}
