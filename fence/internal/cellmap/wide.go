package cellmap

import (
	"sync"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// A wide record is for a cell with more locals or edges than the other form has room for:
//
//	wideRecord, locals, edges
//	corner     one bit for each local, in whole words
//	refs       as in the other form
//	edges      wideEdgeWords for each: lo, size, flags, two locals or noLocal
//	places     as in the other form
const (
	wideHead      = 3
	wideEdgeWords = 5
	noLocal       = 1<<32 - 1
)

// wideMask has a bit for each local of a wide record.
type wideMask []uint32

func (w wideMask) flip(local uint32) { w[local/32] ^= 1 << (local % 32) }
func (w wideMask) set(local uint32)  { w[local/32] |= 1 << (local % 32) }

// fewLocals is how many locals have room for their masks on a reader's stack.
const fewLocals = 512

// wideMasks holds the masks of records with more, while they are worked with.
var wideMasks = sync.Pool{New: func() any { return new([]uint32) }}

// appendWide is appendRecord for a wide record.
func (m *Map) appendWide(dst []geojson.Ref, record uint32, p geometry.Point, at spot) []geojson.Ref {
	n := (m.Words[record+1] + 31) / 32
	if n <= fewLocals/32 {
		var few [2 * fewLocals / 32]uint32
		return m.appendMasked(dst, record, p, at, few[:n], few[n:2*n])
	}
	pooled := wideMasks.Get().(*[]uint32)
	defer wideMasks.Put(pooled)
	if uint32(len(*pooled)) < 2*n {
		*pooled = make([]uint32, 2*n)
	}
	return m.appendMasked(dst, record, p, at, (*pooled)[:n], (*pooled)[n:2*n])
}

// appendMasked is appendWide, given memory for two masks.
func (m *Map) appendMasked(dst []geojson.Ref, record uint32, p geometry.Point, at spot, inside, touched wideMask) []geojson.Ref {
	locals, edges := m.Words[record+1], m.Words[record+2]
	corner := record + wideHead
	refs := corner + uint32(len(inside))
	first := refs + locals
	copy(inside, m.Words[corner:refs])
	clear(touched)
	for i := range edges {
		e := m.Words[first+i*wideEdgeWords:][:wideEdgeWords]
		flips, unsure := crossUnits([]uint32{e[0], e[1], e[2] | 1}, at)
		on := false
		if unsure {
			lo, hi := m.endsOf(first+edges*wideEdgeWords, i)
			flips = 0
			if crosses(lo, hi, e[2], p) {
				flips = 1
			}
			on = m.rule != geometry.HalfOpen && geometry.OnEdge(lo, hi, p)
		}
		for _, local := range e[3:] {
			if local == noLocal {
				continue
			}
			if flips != 0 {
				inside.flip(local)
			}
			if on {
				touched.set(local)
			}
		}
	}
	from := len(dst)
	for i := range locals {
		r := geojson.Ref(m.Words[refs+i])
		if combine(m.rule, inside[i/32], touched[i/32])>>(i%32)&1 == 1 && (len(dst) == from || dst[len(dst)-1] != r) {
			dst = append(dst, r)
		}
	}
	return dst
}
