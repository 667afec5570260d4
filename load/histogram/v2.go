package histogram

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// The headers of HdrHistogram's encoding V2, in big endian. The header of the compressed part has a
// cookie, the length of the counts, an offset of 0, the digits, the least and the largest value,
// and a ratio of values of 1.0. The outer header has a cookie and the length of the compressed
// part.
const (
	cookieV2           = 0x1c849303 | 0x10
	cookieV2Compressed = 0x1c849304 | 0x10
	cookieWords        = 0xf0 // of a cookie, the size of counts in memory, which says nothing here

	headV2           = 40
	headV2Compressed = 8
	digits           = 3
)

// countBytes is how long an encoded count is at most.
const countBytes = 9

// ErrV2 is in all errors about bytes that are no histogram of this layout.
var ErrV2 = errors.New("not a histogram in encoding V2")

// AppendV2 appends h in HdrHistogram's encoding V2. Two histograms with equal counts give equal
// bytes. Clamped values are in the bucket that they were clamped to, and counts above the 2^63 of
// the encoding are written as 2^63.
func (h *Histogram) AppendV2(dst []byte) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, cookieV2)
	dst = binary.BigEndian.AppendUint32(dst, 0) // the length, once it is known
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint32(dst, digits)
	dst = binary.BigEndian.AppendUint64(dst, 1)
	dst = binary.BigEndian.AppendUint64(dst, uint64(Max))
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(1))
	dst = h.appendCounts(dst)
	binary.BigEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-headV2))
	return dst
}

// appendCounts appends the counts up to the last that is not 0, and at least one. Several
// zeros in a row are one negative number.
func (h *Histogram) appendCounts(dst []byte) []byte {
	counts := h.counts[:bucket(h.most)+1]
	for i := 0; i < len(counts); {
		n, zeros := counts[i], 0
		for i++; n == 0 && i < len(counts) && counts[i] == 0; i++ {
			zeros++
		}
		if zeros > 0 {
			dst = appendCount(dst, -int64(zeros+1))
		} else {
			dst = appendCount(dst, int64(min(n, math.MaxInt64)))
		}
	}
	return dst
}

// appendCount appends a number as zig-zag LEB128 of at most nine bytes, of which the last
// has eight bits.
func appendCount(dst []byte, n int64) []byte {
	v := uint64(n)<<1 ^ uint64(n>>63)
	for range countBytes - 1 {
		if v < 0x80 {
			return append(dst, byte(v))
		}
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

// count reads such a number. size is 0 if b is cut short.
func count(b []byte) (n int64, size int) {
	var v uint64
	for i, c := range b[:min(len(b), countBytes)] {
		if i == countBytes-1 {
			v |= uint64(c) << (7 * i)
		} else {
			v |= uint64(c&0x7f) << (7 * i)
		}
		if c < 0x80 || i == countBytes-1 {
			return int64(v>>1) ^ -int64(v&1), i + 1
		}
	}
	return 0, 0
}

// Encoder writes compressed histograms. It reuses its buffers, and belongs to one goroutine. The
// zero value is ready.
type Encoder struct {
	plain  []byte
	packed bytes.Buffer
	zip    *zlib.Writer
}

// Encode gives h as HdrHistogram's compressed encoding V2, which other programs exchange
// as base64. The bytes are borrowed until the next call.
func (e *Encoder) Encode(h *Histogram) []byte {
	e.plain = h.AppendV2(e.plain[:0])
	e.packed.Reset()
	e.packed.Write(make([]byte, headV2Compressed))
	if e.zip == nil {
		e.zip = zlib.NewWriter(&e.packed)
	} else {
		e.zip.Reset(&e.packed)
	}
	_, _ = e.zip.Write(e.plain) // a buffer takes everything
	_ = e.zip.Close()
	b := e.packed.Bytes()
	binary.BigEndian.PutUint32(b, cookieV2Compressed)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-headV2Compressed))
	return b
}

// Decode reads a histogram in HdrHistogram's compressed encoding V2, of Encode or of another
// program, if it has values from 1 and three digits. Min and Max are then known to the bucket
// alone: the least value of the first, the largest of the last.
func Decode(b []byte) (*Histogram, error) {
	if len(b) < headV2Compressed || binary.BigEndian.Uint32(b)&^cookieWords != cookieV2Compressed&^cookieWords {
		return nil, fmt.Errorf("%w: its first bytes are others", ErrV2)
	}
	if n := binary.BigEndian.Uint32(b[4:]); uint64(n) > uint64(len(b)-headV2Compressed) {
		return nil, fmt.Errorf("%w: %d bytes of %d are there", ErrV2, len(b)-headV2Compressed, n)
	}
	zip, err := zlib.NewReader(bytes.NewReader(b[headV2Compressed:]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrV2, err)
	}
	const most = headV2 + Buckets*countBytes
	plain, err := io.ReadAll(io.LimitReader(zip, most+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrV2, err)
	}
	return decodePlain(plain)
}

func decodePlain(b []byte) (*Histogram, error) {
	if len(b) < headV2 || binary.BigEndian.Uint32(b)&^cookieWords != cookieV2&^cookieWords {
		return nil, fmt.Errorf("%w: the compressed part begins with other bytes", ErrV2)
	}
	if n := binary.BigEndian.Uint32(b[4:]); uint64(n) != uint64(len(b)-headV2) {
		return nil, fmt.Errorf("%w: %d bytes of counts, where it says %d", ErrV2, len(b)-headV2, n)
	}
	d, least := binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint64(b[16:])
	ratio := math.Float64frombits(binary.BigEndian.Uint64(b[32:]))
	if d != digits || least > 1 || ratio != 1 {
		return nil, fmt.Errorf("%w of this layout: %d digits, values from %d, ratio %v", ErrV2, d, least, ratio)
	}
	h := New()
	if err := h.setCounts(b[headV2:]); err != nil {
		return nil, err
	}
	return h, nil
}

// setCounts reads the counts into h, which is empty.
func (h *Histogram) setCounts(b []byte) error {
	var all uint64
	for i := 0; len(b) > 0; {
		n, size := count(b)
		if size == 0 {
			return fmt.Errorf("%w: it ends within a count", ErrV2)
		}
		b = b[size:]
		if n < 0 {
			if n < -int64(Buckets-i) {
				return fmt.Errorf("%w: %d empty buckets from %d on, of %d", ErrV2, -uint64(n), i, Buckets)
			}
			i += int(-n)
			continue
		}
		if i >= Buckets || n > 0 && lowest(i) > int64(Max) {
			return fmt.Errorf("%w: a value of more than %v", ErrV2, Max)
		}
		sum, over := bits.Add64(all, uint64(n), 0)
		if all = sum; over != 0 {
			return fmt.Errorf("%w: more than 2^64 values", ErrV2)
		}
		h.setCount(i, uint64(n))
		i++
	}
	return nil
}

func (h *Histogram) setCount(i int, n uint64) {
	if n == 0 {
		return
	}
	h.counts[i] = n
	h.least = min(h.least, lowest(i))
	h.most = min(lowest(i+1)-1, int64(Max))
}
