package frame

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"paddock/wire/protocol"
)

// limit is a row of SPEC's table: default, allowance before the peer's HELLO
// (which is the least legal value too), and the most legal value.
type limit struct{ def, Before, most uint32 }

var (
	LimitFrame    = limit{64 << 10, 16 << 10, MaxPayload}
	LimitInflight = limit{4096, 64, MaxIndex}
	LimitConn     = limit{16 << 20, 256 << 10, math.MaxInt32}
	LimitStream   = limit{256 << 10, 64 << 10, 16 << 20}
	LimitPost     = limit{1 << 20, 64 << 10, math.MaxInt32}
	limitIdle     = limit{30_000, 1_000, 3_600_000} // ms; nothing is allowed before
)

const (
	maxAgent        = 128
	maxCompressions = 8
	maxCodecs       = 16
	maxDictionaries = 16
)

var defaultCodecs = []string{"raw", "cbor"}

// ErrHello is wrapped by the errors of a Hello that SPEC does not allow.
var ErrHello = errors.New("wire: illegal HELLO")

// WithDefaults returns h with every zero field at its default.
func WithDefaults(h protocol.Hello) protocol.Hello {
	h.MinVersion, h.MaxVersion = cmp.Or(h.MinVersion, 1), cmp.Or(h.MaxVersion, 1)
	h.MaxFrame = cmp.Or(h.MaxFrame, LimitFrame.def)
	h.MaxInflight = cmp.Or(h.MaxInflight, LimitInflight.def)
	h.ConnBudget = cmp.Or(h.ConnBudget, LimitConn.def)
	h.StreamInitial = cmp.Or(h.StreamInitial, LimitStream.def)
	h.PostInitial = cmp.Or(h.PostInitial, LimitPost.def)
	h.Idle = cmp.Or(h.Idle, time.Duration(limitIdle.def)*time.Millisecond)
	if h.Codecs == nil {
		h.Codecs = defaultCodecs
	}
	return h
}

// AppendHello appends h, defaults filled in, as the payload of a HELLO frame. It fails
// with ErrHello exactly where the peer would refuse it.
func AppendHello(dst []byte, h protocol.Hello) ([]byte, error) {
	at := len(dst)
	h = WithDefaults(h)
	dst = appendHello(dst, &h)
	if n := len(dst) - at; n > MaxHello {
		return dst[:at], fmt.Errorf("%w: %d bytes; bind some kinds later", ErrHello, n)
	}
	if _, err := ParseHello(dst[at:]); err != nil {
		return dst[:at], fmt.Errorf("%w: a value is out of its range", ErrHello)
	}
	return dst, nil
}

// Keys of the map.
const (
	helloVersions = 1 + iota
	helloAgent
	helloMaxFrame
	helloMaxInflight
	helloConnBudget
	helloStreamInitial
	helloPostInitial
	helloIdle
	helloCompression
	helloCodecs
	helloFeatures
	helloAuth
	helloKinds
	helloSession
	helloDictionaries
)

// appendHello writes all values that differ from those of an absent key, in the order of the keys,
// which is that of deterministic CBOR.
func appendHello(dst []byte, h *protocol.Hello) []byte {
	at, pairs := len(dst), byte(0)
	key := func(k byte) {
		dst = append(dst, k)
		pairs++
	}
	number := func(k byte, n, absent uint64) {
		if n != absent {
			key(k)
			dst = appendCBORHead(dst, cborUint, n)
		}
	}
	texts := func(k byte, list, absent []string) {
		if !slices.Equal(list, absent) {
			key(k)
			dst = appendCBORHead(dst, cborArray, uint64(len(list)))
			for _, text := range list {
				dst = appendCBORText(dst, text)
			}
		}
	}
	key(cborMap << 5)
	pairs = 0
	key(helloVersions)
	dst = append(dst, cborArray<<5|2)
	dst = appendCBORHead(dst, cborUint, uint64(h.MinVersion))
	dst = appendCBORHead(dst, cborUint, uint64(h.MaxVersion))
	if h.Agent != "" {
		key(helloAgent)
		dst = appendCBORText(dst, h.Agent)
	}
	number(helloMaxFrame, uint64(h.MaxFrame), uint64(LimitFrame.def))
	number(helloMaxInflight, uint64(h.MaxInflight), uint64(LimitInflight.def))
	number(helloConnBudget, uint64(h.ConnBudget), uint64(LimitConn.def))
	number(helloStreamInitial, uint64(h.StreamInitial), uint64(LimitStream.def))
	number(helloPostInitial, uint64(h.PostInitial), uint64(LimitPost.def))
	number(helloIdle, uint64(h.Idle/time.Millisecond), uint64(limitIdle.def))
	texts(helloCompression, h.Compression, nil)
	texts(helloCodecs, h.Codecs, defaultCodecs)
	number(helloFeatures, h.Features, 0)
	if h.Auth != nil {
		key(helloAuth)
		dst = appendAuth(dst, h.Auth)
	}
	if len(h.Kinds) > 0 {
		key(helloKinds)
		dst = appendKinds(dst, h.Kinds)
	}
	if h.Session != nil {
		key(helloSession)
		dst = appendSession(dst, h.Session)
	}
	if len(h.Dictionaries) > 0 {
		key(helloDictionaries)
		dst = appendCBORHead(dst, cborArray, uint64(len(h.Dictionaries)))
		for _, id := range h.Dictionaries {
			dst = appendCBORHead(dst, cborUint, id)
		}
	}
	dst[at] |= pairs
	return dst
}

func appendAuth(dst []byte, a *protocol.Auth) []byte {
	dst = appendCBORText(append(dst, cborMap<<5|2, 1), a.Scheme)
	return appendCBORBytes(append(dst, 2), a.Data)
}

func appendSession(dst []byte, s *protocol.Session) []byte {
	dst = appendCBORBytes(append(dst, cborMap<<5|4, 1), s.ID[:])
	dst = appendCBORHead(append(dst, 2), cborUint, s.Epoch)
	dst = appendCBORHead(append(dst, 3), cborUint, uint64(s.Index))
	return appendCBORHead(append(dst, 4), cborUint, s.Base)
}

// appendKinds writes the names in the order of their encodings: shorter ones
// first, as the length comes first.
func appendKinds(dst []byte, kinds map[string]uint32) []byte {
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	dst = appendCBORHead(dst, cborMap, uint64(len(names)))
	for _, name := range names {
		dst = appendCBORHead(appendCBORText(dst, name), cborUint, uint64(kinds[name]))
	}
	return dst
}

// ParseHello reads the payload of a HELLO frame. Absent values get their defaults. Nothing in the
// result is borrowed. The error is a *ProtocolError.
func ParseHello(b []byte) (*protocol.Hello, error) {
	if !validCBOR(b) {
		return nil, helloError(BadCBOR)
	}
	var h protocol.Hello
	r := cborReader{b: b}
	for range r.pairs() {
		readHello(&h, &r, r.uint())
	}
	if r.bad || h.MinVersion == 0 {
		return nil, helloError(BadHello)
	}
	h = WithDefaults(h)
	return &h, nil
}

func helloError(reason Reason) error {
	return &ProtocolError{Frame: HELLO, Code: protocol.Protocol, Reason: reason}
}

// readHello reads the value of a key.
func readHello(h *protocol.Hello, r *cborReader, key uint64) {
	switch key {
	case helloVersions:
		r.bad = r.bad || r.array() != 2
		h.MinVersion = uint8(r.uintIn(1, math.MaxUint8))
		h.MaxVersion = uint8(r.uintIn(uint64(h.MinVersion), math.MaxUint8))
	case helloAgent:
		h.Agent = string(r.text())
		r.bad = r.bad || len(h.Agent) > maxAgent
	case helloMaxFrame:
		h.MaxFrame = LimitFrame.read(r)
	case helloMaxInflight:
		h.MaxInflight = LimitInflight.read(r)
	case helloConnBudget:
		h.ConnBudget = LimitConn.read(r)
	case helloStreamInitial:
		h.StreamInitial = LimitStream.read(r)
	case helloPostInitial:
		h.PostInitial = LimitPost.read(r)
	case helloIdle:
		h.Idle = time.Duration(limitIdle.read(r)) * time.Millisecond
	case helloCompression:
		h.Compression = readTexts(r, maxCompressions)
	case helloCodecs:
		h.Codecs = readTexts(r, maxCodecs)
	case helloFeatures:
		h.Features = r.uint()
	case helloAuth:
		h.Auth = readAuth(r)
	case helloKinds:
		h.Kinds = readKinds(r)
	case helloSession:
		h.Session = readSession(r)
	case helloDictionaries:
		h.Dictionaries = readNumbers(r, maxDictionaries)
	default:
		r.skip()
	}
}

func (l limit) read(r *cborReader) uint32 {
	return uint32(r.uintIn(uint64(l.Before), uint64(l.most)))
}

// fixedKey takes a key that must be k.
func fixedKey(r *cborReader, k uint64) { r.uintIn(k, k) }

func readAuth(r *cborReader) *protocol.Auth {
	r.bad = r.bad || r.pairs() != 2
	var a protocol.Auth
	fixedKey(r, 1)
	a.Scheme = string(r.text())
	fixedKey(r, 2)
	a.Data = bytes.Clone(r.bytes())
	return &a
}

func readSession(r *cborReader) *protocol.Session {
	r.bad = r.bad || r.pairs() != 4
	var s protocol.Session
	fixedKey(r, 1)
	id := r.bytes()
	r.bad = r.bad || len(id) != len(s.ID)
	copy(s.ID[:], id)
	fixedKey(r, 2)
	s.Epoch = r.uint()
	fixedKey(r, 3)
	s.Index = uint32(r.uintIn(0, math.MaxUint32))
	fixedKey(r, 4)
	s.Base = r.uint()
	return &s
}

func readTexts(r *cborReader, most int) []string {
	n := r.array()
	r.bad = r.bad || n > most
	list := []string{} // not nil: it was there
	for range n {
		if r.bad {
			return nil
		}
		list = append(list, string(r.text()))
	}
	return list
}

func readNumbers(r *cborReader, most int) (list []uint64) {
	n := r.array()
	r.bad = r.bad || n > most
	for range n {
		if r.bad {
			return nil
		}
		list = append(list, r.uint())
	}
	return list
}

// readKinds also holds that a number is bound once.
func readKinds(r *cborReader) map[string]uint32 {
	n := r.pairs()
	kinds, taken := map[string]uint32{}, map[uint64]bool{}
	for range n {
		name := r.text()
		number := r.uintIn(1, MaxKind)
		r.bad = r.bad || !ValidKindName(name) || taken[number]
		if r.bad {
			return nil
		}
		kinds[string(name)] = uint32(number)
		taken[number] = true
	}
	return kinds
}

// Preface is the first bytes that each side sends: 0x89, "WIRE", CR, LF, version 1. It exposes
// a client of a text protocol and a transfer that changes line ends.
const Preface = "\x89WIRE\r\n\x01"

// ErrNotWire is wrapped by the errors of CheckPreface.
var ErrNotWire = errors.New("wire: peer does not speak wire")

// CheckPreface checks the bytes received so far at the start of a connection. It returns an
// error as soon as one differs. n is the preface's length once it is complete, else 0.
func CheckPreface(b []byte) (n int, err error) {
	got := b[:min(len(b), len(Preface))]
	if string(got) != Preface[:len(got)] {
		if got[0] == 0x16 { // a TLS record that carries a handshake
			return 0, fmt.Errorf("%w (TLS client on a plain listener)", ErrNotWire)
		}
		return 0, fmt.Errorf("%w (first bytes %q)", ErrNotWire, got)
	}
	if len(got) < len(Preface) {
		return 0, nil
	}
	return len(Preface), nil
}
