package frame

import (
	"strconv"

	"paddock/wire/protocol"
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
			dst = protocol.AppendQuoted(dst, " ", body)
		}
		return dst
	case REQ:
		dst = appendMetaText(appendNumber(dst, " kind=", uint64(f.Kind)), &f.Meta)
	case OPEN:
		dst = appendNumber(dst, " kind=", uint64(f.Kind))
		dst = appendMetaText(appendNumber(dst, " credit=", uint64(f.Credit)), &f.Meta)
	case RES:
		dst = appendMetaText(dst, &f.Meta)
		if f.Has(FlagErr) {
			dst = f.appendFailure(dst)
		}
	case RESET:
		return protocol.AppendQuoted(appendNumber(dst, " code=", uint64(f.Code)), " text=", f.Text)
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
		dst = protocol.AppendQuoted(dst, " name=", f.Text)
		if len(f.Codec) > 0 {
			dst = protocol.AppendQuoted(dst, " codec=", f.Codec)
		}
		return dst
	}
	return protocol.AppendQuoted(dst, " ", f.Body)
}

func (f *Frame) appendID(dst []byte) []byte {
	switch rule := frameRules[f.Type].id; {
	case rule == idZero:
		return dst
	case rule == idKind:
		return appendNumber(dst, " kind=", uint64(f.ID))
	case rule == idCredit && f.ID == ConnectionID:
		return append(dst, " connection"...)
	case rule == idCredit && f.ID == PostLaneID:
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
	return protocol.AppendQuoted(dst, " text=", f.Text)
}

func appendMetaText(dst []byte, m *protocol.Meta) []byte {
	if m.HasDeadline {
		dst = appendNumber(dst, " deadline=", uint64(m.Deadline.Milliseconds()))
	}
	if m.Traceparent != nil {
		dst = protocol.AppendQuoted(dst, " traceparent=", m.Traceparent)
	}
	if m.Codec != nil {
		dst = protocol.AppendQuoted(dst, " codec=", m.Codec)
	}
	if m.HasPriority {
		dst = appendNumber(dst, " priority=", uint64(m.Priority))
	}
	if m.Key != nil {
		dst = protocol.AppendQuoted(dst, " key=", m.Key)
	}
	return dst
}

func appendNumber(dst []byte, label string, n uint64) []byte {
	return strconv.AppendUint(append(dst, label...), n, 10)
}
