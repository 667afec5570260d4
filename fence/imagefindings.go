package fence

import (
	"encoding/binary"
	"math"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// ownFinding, in place of a ref, marks a finding about a file, or about a feature that is no fence
// of the set.
const ownFinding = math.MaxUint32

// appendFindings appends all findings: each as the ref of its fence, or ownFinding, then its
// members, integers as varints and texts with their sizes before them.
func (s *Snapshot) appendFindings(b []byte) []byte {
	for _, f := range s.findings {
		b = appendFinding(b, ownFinding, f)
	}
	for e := range s.table.All() {
		for _, f := range e.Findings {
			b = appendFinding(b, uint64(e.Ref), f)
		}
	}
	return b
}

func appendFinding(b []byte, ref uint64, f geojson.Finding) []byte {
	b = binary.AppendUvarint(b, ref)
	b = binary.AppendVarint(b, int64(f.Feature))
	for _, text := range []string{f.File, f.Key, string(f.Code), f.Reason} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	flags := byte(0)
	if f.Fatal {
		flags |= 1
	}
	if f.At == nil {
		return append(b, flags)
	}
	b = append(b, flags|2)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.At.Lon))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f.At.Lat))
}

// findingReader reads what appendFinding wrote. After a failure it gives zeros.
type findingReader struct {
	b      []byte
	failed bool
}

func (r *findingReader) next() (ref uint64, f geojson.Finding) {
	ref = r.uvarint()
	feature, n := binary.Varint(r.b)
	r.skip(n)
	f.Feature = int(feature)
	f.File, f.Key, f.Code, f.Reason = r.text(), r.text(), geojson.Code(r.text()), r.text()
	flags := r.take(1)
	if r.failed {
		return 0, geojson.Finding{}
	}
	f.Fatal = flags[0]&1 != 0
	if flags[0]&2 != 0 {
		f.At = &geometry.Point{Lon: r.float(), Lat: r.float()}
	}
	return ref, f
}

// take takes the next n bytes; nil if there are not so many.
func (r *findingReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.failed, r.b = true, nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *findingReader) skip(n int) {
	if n <= 0 {
		r.failed, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *findingReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *findingReader) text() string { return string(r.take(r.uvarint())) }

func (r *findingReader) float() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
