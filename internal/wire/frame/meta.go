package frame

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"paddock/wire/protocol"
)

// maxIdempotencyKey bounds the bytes that a receiver may have to remember for a request.
const maxIdempotencyKey = 64

// CloneMeta returns m with slices of its own.
func CloneMeta(m *protocol.Meta) protocol.Meta {
	var own protocol.Meta
	_ = parseMeta(bytes.Clone(m.Raw), &own)
	return own
}

// Keys of the map.
const (
	metaDeadline    = 1
	metaTraceparent = 2
	metaCodec       = 3
	metaPriority    = 4
	metaKey         = 5
)

// parseMeta reads a map; reason is "" if it is legal.
func parseMeta(b []byte, m *protocol.Meta) (reason Reason) {
	if !validCBOR(b) {
		return BadCBOR
	}
	m.Raw = b
	r := cborReader{b: b}
	for range r.pairs() {
		readMeta(m, &r, r.uint())
	}
	if r.bad {
		return BadMeta
	}
	return ""
}

// ErrMeta is wrapped by the errors of metadata that SPEC does not allow.
var ErrMeta = errors.New("wire: illegal metadata")

// EncodeMeta returns the map of m, nil for one without a field. It fails with ErrMeta exactly where
// the peer would refuse it.
func EncodeMeta(m *protocol.Meta) ([]byte, error) {
	b := AppendMeta(nil, m)
	if len(b) <= 1 {
		return nil, nil
	}
	var read protocol.Meta
	switch {
	case len(m.Traceparent)+len(m.Codec)+len(m.Key) == 0: // nothing of it can be illegal
	case len(b) > MaxMeta:
		return nil, fmt.Errorf("%w: %d bytes, of at most %d", ErrMeta, len(b), MaxMeta)
	case len(m.Key) > maxIdempotencyKey:
		return nil, fmt.Errorf("%w: a key of %d bytes, of at most %d", ErrMeta, len(m.Key), maxIdempotencyKey)
	case parseMeta(b, &read) != "":
		return nil, fmt.Errorf("%w: a text is not UTF-8", ErrMeta)
	}
	return b, nil
}

// readMeta reads the value of a key.
func readMeta(m *protocol.Meta, r *cborReader, key uint64) {
	switch key {
	case metaDeadline:
		const most = uint64(math.MaxInt64 / time.Millisecond)
		m.HasDeadline = true
		m.Deadline = time.Duration(min(r.uint(), most)) * time.Millisecond
	case metaTraceparent:
		m.Traceparent = r.text()
	case metaCodec:
		m.Codec = r.text()
	case metaPriority:
		m.HasPriority = true
		m.Priority = uint8(r.uintIn(0, math.MaxUint8))
	case metaKey:
		m.Key = r.bytes()
		r.bad = r.bad || len(m.Key) > maxIdempotencyKey
	default:
		r.skip()
	}
}

// AppendMeta appends the map of m, without a length before it. m.Raw is not
// looked at.
func AppendMeta(dst []byte, m *protocol.Meta) []byte {
	at, pairs := len(dst), byte(0)
	dst = append(dst, cborMap<<5)
	head := func(key, major byte, arg uint64) {
		dst = appendCBORHead(append(dst, key), major, arg)
		pairs++
	}
	content := func(key, major byte, b []byte) {
		if len(b) > 0 {
			head(key, major, uint64(len(b)))
			dst = append(dst, b...)
		}
	}
	if m.HasDeadline {
		head(metaDeadline, cborUint, uint64(max(0, m.Deadline)/time.Millisecond))
	}
	content(metaTraceparent, cborText, m.Traceparent)
	content(metaCodec, cborText, m.Codec)
	if m.HasPriority {
		head(metaPriority, cborUint, uint64(m.Priority))
	}
	content(metaKey, cborBytes, m.Key)
	dst[at] |= pairs
	return dst
}
