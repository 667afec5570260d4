package frame

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The subset of CBOR that SPEC allows is checked here, byte by byte, before any
// other code reads it: deterministic encoding, no tags, no floats, 4 levels.
// Because map keys must ascend, a duplicate cannot occur, and no table of keys
// seen is needed.

const maxCBORDepth = 4

// Major types of RFC 8949 section 3.1.
const (
	cborUint   = 0
	cborNegInt = 1
	cborBytes  = 2
	cborText   = 3
	cborArray  = 4
	cborMap    = 5
	cborSimple = 7
)

// cborHead reads an item's head: its major type, its argument and the head's
// length, which is 0 if the head is cut off, not the shortest, or indefinite.
func cborHead(b []byte) (major byte, arg uint64, n int) {
	if len(b) == 0 {
		return 0, 0, 0
	}
	major, info := b[0]>>5, b[0]&31
	if info < 24 {
		return major, uint64(info), 1
	}
	size := 1 << (info - 24) // 1, 2, 4 or 8 bytes follow
	if info > 27 || len(b) < 1+size {
		return 0, 0, 0
	}
	for _, c := range b[1 : 1+size] {
		arg = arg<<8 | uint64(c)
	}
	least := uint64(24) // that needs a head of this size
	if size > 1 {
		least = 1 << (4 * size)
	}
	if arg < least {
		return 0, 0, 0
	}
	return major, arg, 1 + size
}

// scanCBOR returns the length of the legal item at the start of b, or 0.
func scanCBOR(b []byte, depth int) int {
	major, arg, n := cborHead(b)
	if n == 0 {
		return 0
	}
	switch major {
	case cborUint:
		return n
	case cborNegInt: // -1 - arg fits an int64
		if arg > math.MaxInt64 {
			return 0
		}
		return n
	case cborBytes, cborText:
		if arg > uint64(len(b)-n) {
			return 0
		}
		end := n + int(arg)
		if major == cborText && !utf8.Valid(b[n:end]) {
			return 0
		}
		return end
	case cborArray, cborMap:
		if depth == maxCBORDepth || arg > uint64(len(b)-n) {
			return 0
		}
		return scanItems(b, n, int(arg), major == cborMap, depth+1)
	case cborSimple: // false, true, null
		if n == 1 && 20 <= arg && arg <= 22 {
			return n
		}
	}
	return 0
}

// scanItems returns where count items that begin at b[at] end, or 0. Those of a
// map are pairs; their keys are numbers or text, and ascend.
func scanItems(b []byte, at, count int, pairs bool, depth int) int {
	var last []byte
	for range count {
		n := scanCBOR(b[at:], depth)
		if n == 0 {
			return 0
		}
		if pairs {
			key := b[at : at+n]
			if kind := key[0] >> 5; kind != cborUint && kind != cborNegInt && kind != cborText {
				return 0
			}
			if last != nil && bytes.Compare(last, key) >= 0 {
				return 0
			}
			last = key
			at += n
			if n = scanCBOR(b[at:], depth); n == 0 {
				return 0
			}
		}
		at += n
	}
	return at
}

// ValidDetails reports whether an error may carry b as its details.
func ValidDetails(b []byte) bool { return len(b) == 0 || validCBOR(b) }

// validCBOR reports whether b is one legal item and nothing else.
func validCBOR(b []byte) bool {
	return len(b) > 0 && scanCBOR(b, 0) == len(b)
}

// cborReader takes apart bytes that validCBOR has let pass. A method that meets
// another type than its own sets bad, and from then on all return zero values.
type cborReader struct {
	b   []byte
	bad bool
}

// head takes the head of an item of the given type.
func (r *cborReader) head(major byte) uint64 {
	got, arg, n := cborHead(r.b)
	if r.bad || n == 0 || got != major {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return arg
}

func (r *cborReader) uint() uint64 { return r.head(cborUint) }

// uintIn takes a number that must be between low and high.
func (r *cborReader) uintIn(low, high uint64) uint64 {
	n := r.uint()
	r.bad = r.bad || n < low || n > high
	return n
}

func (r *cborReader) array() int { return int(r.head(cborArray)) }

// pairs takes the head of a map.
func (r *cborReader) pairs() int { return int(r.head(cborMap)) }

func (r *cborReader) bytes() []byte { return r.content(cborBytes) }

func (r *cborReader) text() []byte { return r.content(cborText) }

func (r *cborReader) content(major byte) []byte {
	n := r.head(major)
	if r.bad {
		return nil
	}
	content := r.b[:n]
	r.b = r.b[n:]
	return content
}

// skip drops a whole item.
func (r *cborReader) skip() {
	n := scanCBOR(r.b, 0)
	r.bad = r.bad || n == 0
	r.b = r.b[n:]
}

func appendCBORHead(dst []byte, major byte, arg uint64) []byte {
	switch major <<= 5; {
	case arg < 24:
		return append(dst, major|byte(arg))
	case arg <= math.MaxUint8:
		return append(dst, major|24, byte(arg))
	case arg <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(arg))
	case arg <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), arg)
}

func appendCBORText[T string | []byte](dst []byte, text T) []byte {
	return append(appendCBORHead(dst, cborText, uint64(len(text))), text...)
}

func appendCBORBytes(dst, b []byte) []byte {
	return append(appendCBORHead(dst, cborBytes, uint64(len(b))), b...)
}
