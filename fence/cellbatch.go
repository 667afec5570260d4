package fence

import (
	"math/bits"
	"slices"
)

// batchSize is how many points are located before the first of them is looked into: their
// loads overlap.
const batchSize = 64

// located is a point of a batch on its way to its answer.
type located struct {
	p     Point
	at    spot
	entry uint32
	refs  uint32 // how many the answer has, if that is known: 0 or 1
	ref   Ref    // the one
}

// appendBatch appends one answer for each point. It does not allocate if dst has room.
//
// It goes over the points again and again, and does one thing each time, so that the
// processor can foresee what comes: which points lie in cells with edges it could not.
//
// hot: guarded by BenchmarkBusesBatch and the conformance suite's "does not allocate".
func (m *cellmap) appendBatch(dst *Batch, lon, lat []float64) {
	var (
		points [batchSize]located
		edged  [batchSize + 1]uint8 // those in cells with a record
		others [batchSize + 1]uint8 // those of whose answers more than one ref may be
	)
	for len(lon) > 0 {
		n := min(len(lon), len(lat), batchSize)
		k, l := 0, 0
		for i := range n {
			pt := &points[i]
			pt.p, _ = normalize(lon[i], lat[i])
			entry, at := m.find(pt.p)
			pt.entry, pt.at, pt.ref = entry, at, Ref(entry&entryMask)
			pt.refs = entry >> entryBits & 1
			edged[k] = uint8(i)
			k += int(entry >> (entryBits + 1)) // entryCell, as no entryNode comes here
			others[l] = uint8(i)
			if entry-1 < entryOne-1 { // a list that is not empty
				l++
			}
		}
		for _, i := range edged[:k] {
			pt := &points[i%batchSize]
			record := pt.entry & entryMask
			if m.words[record]&recordLocals == wideRecord {
				others[l] = i
				l++
				continue
			}
			inside := m.inside(record, pt.p, pt.at)
			if inside&(inside-1) != 0 {
				others[l] = i
				l++
				continue
			}
			// Where none holds the point the first local's ref will do: it is not used.
			pt.ref = Ref(m.words[record+1+uint32(bits.TrailingZeros32(inside))%maxLocals])
			pt.refs = min(inside, 1)
		}
		if l > 0 {
			m.appendMixed(dst, points[:n], others[:l])
		} else {
			appendFew(dst, points[:n])
		}
		lon, lat = lon[n:], lat[n:]
	}
}

// appendFew appends answers of one ref at most.
func appendFew(dst *Batch, points []located) {
	refs := slices.Grow(dst.Refs, len(points))
	offsets := slices.Grow(dst.Offsets, len(points))
	n, k := len(refs), len(offsets)
	refs, offsets = refs[:n+len(points)], offsets[:k+len(points)]
	for i := range points {
		refs[n] = points[i].ref
		n += int(points[i].refs & 1)
		offsets[k+i] = uint32(n)
	}
	dst.Refs, dst.Offsets = refs[:n], offsets
}

// appendMixed appends answers; of those listed more than one ref may be.
func (m *cellmap) appendMixed(dst *Batch, points []located, listed []uint8) {
	const many = 2
	for _, i := range listed {
		points[i].refs = many
	}
	refs, offsets := dst.Refs, dst.Offsets
	for i := range points {
		switch pt := &points[i]; {
		case pt.refs == 1:
			refs = append(refs, pt.ref)
		case pt.refs == 0:
		case pt.entry >= entryCell:
			refs = m.appendRecord(refs, pt.entry&entryMask, pt.p, pt.at)
		default:
			refs = m.appendList(refs, pt.entry&entryMask)
		}
		offsets = append(offsets, uint32(len(refs)))
	}
	dst.Refs, dst.Offsets = refs, offsets
}
