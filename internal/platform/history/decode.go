package history

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"paddock/fence/track"
)

var errBlock = errors.New("history: not a valid block")

// appendFixes appends the fixes of a block to dst. They do not share memory with b.
func appendFixes(dst []Fix, b []byte) ([]Fix, error) {
	r := blockReader{rest: b}
	if r.byte() != blockVersion {
		return dst, errBlock
	}
	n := r.count(1) // each has at least a byte of time
	if n == 0 {
		return dst, errBlock
	}
	begin := len(dst)
	dst = slices.Grow(dst, n)[:begin+n]
	fixes := dst[begin:]
	clear(fixes)
	r.changes(2, n, func(i int, v int64) { fixes[i].Time = track.Millis(v) })
	r.changes(1, n, func(i int, v int64) { fixes[i].Arrived = fixes[i].Time + track.Millis(v) })
	r.changes(r.order(), n, func(i int, v int64) { fixes[i].Lon = float64(v) / grid })
	r.changes(r.order(), n, func(i int, v int64) { fixes[i].Lat = float64(v) / grid })
	r.offGrid(fixes)
	for _, m := range measures {
		r.measure(fixes, m)
	}
	r.props(fixes)
	if r.err != nil || len(r.rest) > 0 {
		return dst[:begin], errBlock
	}
	for i := 1; i < n; i++ {
		if fixes[i].Time <= fixes[i-1].Time {
			return dst[:begin], errBlock
		}
	}
	return dst, nil
}

// blockReader reads field after field. After the first error it returns zeros.
type blockReader struct {
	rest []byte
	err  error
}

func (r *blockReader) fail() { r.rest, r.err = nil, errBlock }

func (r *blockReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *blockReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *blockReader) int() int64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // mostly
		b := r.rest[0]
		r.rest = r.rest[1:]
		return int64(b>>1) ^ -int64(b&1)
	}
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads the number of elements, each of which has at least this many bytes.
func (r *blockReader) count(bytes int) int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(len(r.rest)-n)/uint64(bytes) {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// below reads a number below a bound.
func (r *blockReader) below(bound int) int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v >= uint64(max(bound, 0)) {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *blockReader) order() int {
	order := r.byte()
	if order != 1 && order != 2 {
		r.fail()
	}
	return int(order)
}

// changes reads what appendChanges wrote.
func (r *blockReader) changes(order, n int, set func(i int, v int64)) {
	var last, step int64
	for i := 0; i < n && r.err == nil; i++ {
		change := r.int()
		if order == 2 && i > 0 {
			step += change
			change = step
		}
		last += change
		set(i, last)
	}
}

func (r *blockReader) offGrid(fixes []Fix) {
	at := 0
	for range r.count(17) {
		at += r.below(len(fixes) - at)
		b := r.take(16)
		if r.err != nil {
			return
		}
		fixes[at].Lon = math.Float64frombits(binary.LittleEndian.Uint64(b))
		fixes[at].Lat = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
	}
}

func (r *blockReader) measure(fixes []Fix, of func(*Fix) *track.Measure) {
	var bits []byte
	switch r.byte() {
	case inNone:
		return
	case inAll:
	case inSome:
		bits = r.take((len(fixes) + 7) / 8)
	default:
		r.fail()
	}
	if r.err != nil {
		return
	}
	known := make([]int32, 0, len(fixes))
	for i := range fixes {
		if bits == nil || bits[i/8]>>(i%8)&1 == 1 {
			known = append(known, int32(i))
		}
	}
	set := func(i int, v float32) { *of(&fixes[known[i]]) = track.Measure{Value: v, Known: true} }
	scale := r.byte()
	switch {
	case int(scale) < len(scales):
		by := scales[scale]
		r.changes(1, len(known), func(i int, v int64) { set(i, float32(float64(v)/by)) })
	case int(scale) == len(scales):
		b := r.take(4 * len(known))
		if r.err != nil {
			return
		}
		for i := range known {
			set(i, math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	default:
		r.fail()
	}
}

func (r *blockReader) props(fixes []Fix) {
	texts := make([]string, 1, 1+r.count(1))
	for range cap(texts) - 1 {
		texts = append(texts, string(r.take(r.count(1))))
	}
	for i := 0; i < len(fixes) && r.err == nil; {
		text := r.below(len(texts))
		length := r.below(1 + len(fixes) - i)
		if length == 0 {
			r.fail()
			return
		}
		for range length {
			fixes[i].Props = texts[text]
			i++
		}
	}
}
