package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// String is f in the notation of the vectors and histories: the type, the id, the
// flags by name, then the fields.
//
//	REQ d1/1 META kind=2 deadline=250 "q"
//	RES d1/1 ERR code=14 not-started retry=1000 text="drain" ""
//
// Bytes are quoted if they are all plain ASCII, else in hex.
func (f *Frame) String() string { return string(f.appendText(nil)) }

func (f *Frame) appendText(dst []byte) []byte {
	dst = append(dst, f.Type.String()...)
	dst = f.appendID(dst)
	for bit, name := range frameRules[f.Type].flags {
		if f.Flags&(1<<bit) != 0 {
			dst = append(append(dst, ' '), name...)
		}
	}
	switch f.Type {
	case POSTS:
		for rest := f.Body; len(rest) > 0; {
			var body []byte
			body, rest = CutPost(rest)
			dst = appendBytes(dst, " ", body)
		}
		return dst
	case REQ:
		dst = f.Meta.appendText(appendNumber(dst, " kind=", uint64(f.Kind)))
	case OPEN:
		dst = appendNumber(dst, " kind=", uint64(f.Kind))
		dst = f.Meta.appendText(appendNumber(dst, " credit=", uint64(f.Credit)))
	case RES:
		dst = f.Meta.appendText(dst)
		if f.Has(FlagErr) {
			dst = f.appendFailure(dst)
		}
	case RESET:
		return appendBytes(appendNumber(dst, " code=", uint64(f.Code)), " text=", f.Text)
	case CREDIT:
		return appendNumber(dst, " ", uint64(f.Credit))
	case CANCEL:
		return dst
	case ACK:
		return appendNumber(dst, " ", f.Count)
	case GOAWAY:
		dst = f.appendFailure(dst)
		return appendNumber(dst, " jitter=", uint64(f.Jitter))
	case BIND:
		dst = appendBytes(dst, " name=", f.Text)
		if len(f.Codec) > 0 {
			dst = appendBytes(dst, " codec=", f.Codec)
		}
		return dst
	}
	return appendBytes(dst, " ", f.Body)
}

func (f *Frame) appendID(dst []byte) []byte {
	switch rule := frameRules[f.Type].id; {
	case rule == idZero:
		return dst
	case rule == idKind:
		return appendNumber(dst, " kind=", uint64(f.ID))
	case rule == idCredit && f.ID == connectionID:
		return append(dst, " connection"...)
	case rule == idCredit && f.ID == postLaneID:
		return append(dst, " posts"...)
	case rule == idAny:
		return appendNumber(dst, " ", uint64(f.ID))
	}
	return append(append(dst, ' '), f.Slot().String()...)
}

func (f *Frame) appendFailure(dst []byte) []byte {
	dst = appendNumber(dst, " code=", uint64(f.Code))
	if f.NotStarted {
		dst = append(dst, " not-started"...)
	}
	dst = appendNumber(dst, " retry=", uint64(f.RetryAfter))
	return appendBytes(dst, " text=", f.Text)
}

func (m *Meta) appendText(dst []byte) []byte {
	if m.HasDeadline {
		dst = appendNumber(dst, " deadline=", uint64(m.Deadline.Milliseconds()))
	}
	if m.Traceparent != nil {
		dst = appendBytes(dst, " traceparent=", m.Traceparent)
	}
	if m.Codec != nil {
		dst = appendBytes(dst, " codec=", m.Codec)
	}
	if m.HasPriority {
		dst = appendNumber(dst, " priority=", uint64(m.Priority))
	}
	if m.Key != nil {
		dst = appendBytes(dst, " key=", m.Key)
	}
	return dst
}

func appendNumber(dst []byte, label string, n uint64) []byte {
	return strconv.AppendUint(append(dst, label...), n, 10)
}

func appendBytes(dst []byte, label string, b []byte) []byte {
	dst = append(dst, label...)
	plain := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if bytes.IndexFunc(b, plain) < 0 {
		return append(append(append(dst, '"'), b...), '"')
	}
	return append(hex.AppendEncode(append(dst, "h'"...), b), '\'')
}

// String is the notation of the vectors: every key, defaults filled in.
func (h *Hello) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "versions=%d-%d agent=%s max_frame=%d max_inflight=%d conn_budget=%d stream_initial=%d post_initial=%d idle_ms=%d",
		h.MinVersion, h.MaxVersion, appendBytes(nil, "", []byte(h.Agent)), h.MaxFrame, h.MaxInflight,
		h.ConnBudget, h.StreamInitial, h.PostInitial, h.Idle.Milliseconds())
	fmt.Fprintf(&b, " compression=%s codecs=%s features=%d",
		strings.Join(h.Compression, ","), strings.Join(h.Codecs, ","), h.Features)
	if h.Auth != nil { // the data is a secret
		fmt.Fprintf(&b, " auth=%s:%d", h.Auth.Scheme, len(h.Auth.Data))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Kinds)) {
		fmt.Fprintf(&b, " kind=%s:%d", name, h.Kinds[name])
	}
	if s := h.Session; s != nil {
		fmt.Fprintf(&b, " session=%x:%d:%d:%d", s.ID, s.Epoch, s.Index, s.Base)
	}
	for _, id := range h.Dictionaries {
		fmt.Fprintf(&b, " dictionary=%d", id)
	}
	return b.String()
}
