package protocol

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Hello describes a side when the connection opens. The zero value of each field stands for the
// default that SPEC section 4 gives. The limits bind the peer.
type Hello struct {
	MinVersion, MaxVersion uint8 // 0: 1

	Agent         string        // for logs, at most 128 bytes
	MaxFrame      uint32        // bytes of payload that I accept; 0: 64 KiB
	MaxInflight   uint32        // slots that you may hold; 0: 4,096
	ConnBudget    uint32        // bytes, initial credit of the connection; 0: 16 MiB
	StreamInitial uint32        // bytes, initial credit of a stream; 0: 256 KiB
	PostInitial   uint32        // bytes, initial credit of the post lane; 0: 1 MiB
	Idle          time.Duration // whole milliseconds; 0: 30 s
	Compression   []string      // that I read, best first
	Codecs        []string      // of bodies that I read, best first; nil: raw, cbor
	Features      uint64
	Auth          *Auth             // nil: none
	Kinds         map[string]uint32 // my kinds by name
	Session       *Session          // nil: none
	Dictionaries  []uint64
}

// Auth is a credential: a scheme's name and its data.
type Auth struct {
	Scheme string
	Data   []byte
}

// Session names a session, which outlives a connection. See SPEC section 8.
type Session struct {
	ID    [16]byte // random, or else unique
	Epoch uint64   // of the process that holds it; a higher one takes over
	Index uint32   // of this connection among those of the session
	Base  uint64   // posts that were acknowledged before this connection
}

// String lists every key, in the notation of the test vectors. Of a credential it has the scheme
// and the length, and not the secret.
func (h *Hello) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "versions=%d-%d agent=%s max_frame=%d max_inflight=%d conn_budget=%d stream_initial=%d post_initial=%d idle_ms=%d",
		h.MinVersion, h.MaxVersion, AppendQuoted(nil, "", []byte(h.Agent)), h.MaxFrame, h.MaxInflight,
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

// AppendQuoted appends a label and the bytes: in quotes if they are printable ASCII, else in
// hexadecimal.
func AppendQuoted(dst []byte, label string, b []byte) []byte {
	dst = append(dst, label...)
	plain := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if bytes.IndexFunc(b, plain) < 0 {
		return append(append(append(dst, '"'), b...), '"')
	}
	return append(hex.AppendEncode(append(dst, "h'"...), b), '\'')
}

// Meta is the metadata of REQ, RES and OPEN. Its slices are borrowed from the frame. The zero value
// has no field.
type Meta struct {
	HasDeadline bool
	HasPriority bool
	Priority    uint8
	Deadline    time.Duration // from now, in whole milliseconds
	Traceparent []byte        // W3C trace context, text
	Codec       []byte        // of the body, text
	Key         []byte        // idempotency key
	Raw         []byte        // the CBOR map as it came, unknown keys included
}
