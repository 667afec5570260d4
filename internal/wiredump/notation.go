package wiredump

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"paddock/internal/wire/frame"
)

// Names of keys, shown as comments of the notation.
var (
	helloKeys = map[string]string{
		"1": "versions", "2": "agent", "3": "max_frame", "4": "max_inflight", "5": "conn_budget",
		"6": "stream_initial", "7": "post_initial", "8": "idle_ms", "9": "compression", "10": "codecs",
		"11": "features", "12": "auth", "13": "kinds", "14": "session", "15": "dictionaries",
	}
	metaKeys = map[string]string{
		"1": "deadline", "2": "traceparent", "3": "codec", "4": "priority", "5": "key",
	}
)

const authKey = "12"

// diagnosticMap returns the notation of a map that package wire has accepted, with the names of its
// keys, and without the secret of HELLO.
func diagnosticMap(b []byte, keys map[string]string) string {
	if len(b) == 0 {
		return ""
	}
	rest := b[1:]
	if extra := int(b[0]&31) - 23; extra > 0 { // the count takes 1, 2, 4 or 8 bytes more
		rest = b[1+1<<(extra-1):]
	}
	var text strings.Builder
	for separator := "{"; len(rest) > 0; separator = ", " {
		key, after, err := cbor.DiagnoseFirst(rest)
		if err != nil {
			return "" // impossible after the codec's check
		}
		value, next, err := cbor.DiagnoseFirst(after)
		if err != nil {
			return ""
		}
		text.WriteString(separator + key)
		if name, ok := keys[key]; ok {
			text.WriteString(" /" + name + "/")
			if name == "auth" && key == authKey {
				value = hideSecret(b)
			}
		}
		text.WriteString(": " + value)
		rest = next
	}
	if text.Len() == 0 {
		return "{}"
	}
	return text.String() + "}"
}

// hideSecret returns the value of auth, with only the length of its data.
func hideSecret(hello []byte) string {
	h, err := frame.ParseHello(hello)
	if err != nil || h.Auth == nil {
		return "/hidden/"
	}
	scheme := strconv.QuoteToASCII(h.Auth.Scheme)
	return fmt.Sprintf("{1: %s, 2: /%d bytes, hidden/}", scheme, len(h.Auth.Data))
}

// Body is the shown part of a body. At most one of CBOR, Text and Hex is set.
type Body struct {
	Length int    `json:"length"`
	CBOR   string `json:"cbor,omitempty"` // diagnostic notation
	Text   string `json:"text,omitempty"`
	Hex    string `json:"hex,omitempty"`
	Cut    bool   `json:"cut,omitempty"` // only its beginning
}

// showBody returns up to limit bytes of b. codec is the encoding that the peers have named, or "".
func showBody(b []byte, codec string, limit int) Body {
	body := Body{Length: len(b), Cut: limit < len(b)}
	b = b[:min(limit, len(b))]
	if len(b) == 0 {
		return body
	}
	if !body.Cut && (codec == "cbor" || codec == "" && looksLikeCBOR(b)) {
		if text, err := cbor.Diagnose(b); err == nil { // b is one well-formed item
			body.CBOR = text
			return body
		}
	}
	if end, ok := printable(b, body.Cut); ok {
		body.Text = string(b[:end])
	} else {
		body.Hex = hex.EncodeToString(b)
	}
	return body
}

// looksLikeCBOR reports whether b begins like an array or map that is not empty. Peers that name no
// codec rarely send other bodies that begin so.
func looksLikeCBOR(b []byte) bool {
	major := b[0] >> 5
	return (major == 4 || major == 5) && len(b) > 1
}

// printable reports whether b is printable text, and where its last whole character ends if it was
// cut.
func printable(b []byte, cut bool) (end int, ok bool) {
	for end < len(b) {
		r, size := utf8.DecodeRune(b[end:])
		if r == utf8.RuneError && size == 1 {
			return end, cut && end > 0 && !utf8.FullRune(b[end:])
		}
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return 0, false
		}
		end += size
	}
	return end, true
}

func (b *Body) append(dst []byte) []byte {
	switch {
	case b.CBOR != "":
		dst = append(dst, b.CBOR...)
	case b.Hex != "":
		dst = fmt.Appendf(dst, "h'%s'", b.Hex)
	case b.Text != "" || !b.Cut:
		dst = strconv.AppendQuote(dst, b.Text)
	}
	if b.Cut {
		dst = fmt.Appendf(dst, "...(%d)", b.Length)
	}
	return dst
}
