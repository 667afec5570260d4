package cellmap

import (
	"math/bits"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// blockPoints is how many points of a batch are looked up side by side: as many as a uint8 numbers.
const blockPoints = 1 << 8

// fewPoints is how many points are worth a block, which takes 100 ns to begin with.
const fewPoints = 8

// cellBlock is some points of a batch on their way to their answers. Each pass does one step for
// all points, so that loads overlap and branches are predictable. The number of edges in each
// point's cell would not be: so one pass looks at one edge of each point, the next pass at the
// second edge of the points that have another, and so on.
type cellBlock struct {
	entries [blockPoints]uint32      // of each point's cell
	spots   [blockPoints]spot        // where in the cell it is
	refs    [blockPoints]geojson.Ref // the answer, if it is one
	counts  [blockPoints]uint8       // refs of the answer: none, one, or several
	mixed   uint32                   // 0 = no answer has several refs

	// Of points in cells with a record.
	next   [blockPoints]uint32      // the words of the next edge
	edges  [blockPoints]uint32      // that are left
	inside [blockPoints]uint32      // the locals that hold the point, or wideInside
	unsure [blockPoints / 64]uint64 // a bit for each point: whole units cannot decide

	divided blockList // points in root cells that are divided
	edged   blockList // points in cells with a record
	open    blockList // of edged: points that have another edge
}

const (
	// several is a count of more than one, which is not known yet.
	several = 2
	// wideInside stands for the locals of a wide record. It looks like several of them, and
	// names the first word after the head, which each record has.
	wideInside = 1<<31 | 1
)

// blockList lists points of a block.
type blockList struct {
	n      uint
	points [blockPoints]uint8
}

// add adds the point k if yes is 1, not if it is 0. There is room for each point once, if only
// to be written over.
func (l *blockList) add(k uint8, yes uint32) {
	l.points[uint8(l.n)] = k
	l.n += uint(yes)
}

func (l *blockList) all() []uint8 { return l.points[:l.n] }

// appendBatch appends one answer for each point. It does not allocate if dst has room.
//
// hot: guarded by BenchmarkBusesBatch and the conformance suite's "does not allocate".
func (m *Map) appendBatch(dst *index.Answers, lon, lat []float64) {
	if len(lon) < fewPoints {
		for i := range lon {
			p, _ := geometry.Normalize(lon[i], lat[i])
			dst.Refs = m.append(dst.Refs, p)
			dst.Offsets = append(dst.Offsets, uint32(len(dst.Refs)))
		}
		return
	}
	m.appendBlocks(dst, lon, lat)
}

// appendBlocks is appendBatch for more than a few points.
func (m *Map) appendBlocks(dst *index.Answers, lon, lat []float64) {
	var b cellBlock
	for len(lon) > 0 {
		n := min(len(lon), blockPoints)
		b.look(m, lon[:n], lat[:n])
		if b.mixed == 0 {
			b.appendFew(dst, n)
		} else {
			b.appendMixed(m, dst, lon[:n], lat[:n])
		}
		lon, lat = lon[n:], lat[n:]
	}
}

// look finds what holds each point.
func (b *cellBlock) look(m *Map, lon, lat []float64) {
	b.mixed, b.divided.n, b.edged.n, b.open.n = 0, 0, 0, 0
	clear(b.unsure[:])
	b.locate(m, lon, lat)
	b.descend(m, lon, lat)
	b.read(m)
	for b.open.n > 0 {
		b.cross(m)
	}
	b.decide(m, lon, lat)
	b.name(m)
}

// locate finds the root cell of each point.
func (b *cellBlock) locate(m *Map, lon, lat []float64) {
	lat = lat[:len(lon)]
	for i := range lon {
		p, _ := geometry.Normalize(lon[i], lat[i])
		k := uint8(i)
		if !hasUnits(p) {
			b.entries[k], b.counts[k] = entryList, 0
			continue
		}
		place := m.place(p)
		entry := m.root(place)
		b.put(k, entry, place.within(m.Shift))
		b.divided.add(k, entry>>(entryBits+1)&(entry>>entryBits))
	}
}

// descend finds the cells of points in root cells that are divided.
func (b *cellBlock) descend(m *Map, lon, lat []float64) {
	for _, k := range b.divided.all() {
		p, _ := geometry.Normalize(lon[k], lat[k])
		entry, at := m.find(p)
		b.put(k, entry, at)
	}
}

// put notes the cell of a point. If that has no edges the answer is known.
func (b *cellBlock) put(k uint8, entry uint32, at spot) {
	b.entries[k], b.spots[k] = entry, at
	b.refs[k], b.counts[k] = geojson.Ref(entry&entryMask), uint8(entry>>entryBits&1)
	b.edged.add(k, entry>>(entryBits+1)&^(entry>>entryBits))
	if entry-1 < entryOne-1 { // a list that is not empty
		b.counts[k], b.mixed = several, 1
	}
}

// read begins with the records.
func (b *cellBlock) read(m *Map) {
	for _, k := range b.edged.all() {
		record := b.entries[k] & entryMask
		head := m.Words[record]
		locals, edges, inside := head&recordLocals, head>>edgesShift&recordEdges, head>>cornerShift
		if locals == wideRecord {
			edges, inside = 0, wideInside
		}
		b.next[k], b.edges[k], b.inside[k] = record+1+locals, edges, inside
		b.open.add(k, min(edges, 1))
	}
}

// cross looks at one edge of each open point, and closes points without further edges.
func (b *cellBlock) cross(m *Map) {
	open, words := b.open.all(), m.Words
	b.open.n = 0
	for _, k := range open {
		at := int(b.next[k])
		b.next[k] += edgeWords
		sides := words[at+2] // the highest first: that leaves less to check
		e := seen(words[at], words[at+1], b.spots[k])
		det, far := e.turn()
		flips, sure := e.cross(sides, det, far)
		if sure >= 0 {
			b.unsure[k/64] |= 1 << (k % 64)
		}
		b.inside[k] ^= flips
		b.edges[k]--
		b.open.add(k, min(b.edges[k], 1))
	}
}

// decide asks the coordinates themselves where units cannot decide.
func (b *cellBlock) decide(m *Map, lon, lat []float64) {
	for i, unsure := range b.unsure {
		for ; unsure != 0; unsure &= unsure - 1 {
			k := uint8(64*i + bits.TrailingZeros64(unsure))
			p, _ := geometry.Normalize(lon[k], lat[k])
			b.inside[k] = m.insideExactly(b.entries[k]&entryMask, p, b.spots[k])
		}
	}
}

// name finds the fence of each point in a cell with edges that is in one, and no other.
func (b *cellBlock) name(m *Map) {
	for _, k := range b.edged.all() {
		inside := b.inside[k]
		// Where none holds the point the first local's ref will do: it is not used.
		first := uint32(bits.TrailingZeros32(inside)) % maxLocals
		more := min(inside&(inside-1), 1)
		b.refs[k], b.counts[k] = geojson.Ref(m.Words[b.entries[k]&entryMask+1+first]), uint8(min(inside, 1)+more)
		b.mixed |= more
	}
}

// appendFew appends answers of one ref at most.
func (b *cellBlock) appendFew(dst *index.Answers, points int) {
	refs := slices.Grow(dst.Refs, points)
	offsets := slices.Grow(dst.Offsets, points)
	n, k := len(refs), len(offsets)
	refs, offsets = refs[:n+points], offsets[:k+points]
	for i := range points {
		refs[n] = b.refs[uint8(i)]
		n += int(b.counts[uint8(i)] & 1)
		offsets[k+i] = uint32(n)
	}
	dst.Refs, dst.Offsets = refs[:n], offsets
}

// appendMixed appends answers of which some have several refs.
func (b *cellBlock) appendMixed(m *Map, dst *index.Answers, lon, lat []float64) {
	refs, offsets := dst.Refs, dst.Offsets
	for i := range lon {
		k := uint8(i)
		switch entry := b.entries[k]; {
		case b.counts[k] == 0:
		case b.counts[k] == 1:
			refs = append(refs, b.refs[k])
		case entry < EntryCell:
			refs = m.appendList(refs, entry&entryMask)
		case b.inside[k] == wideInside:
			p, _ := geometry.Normalize(lon[i], lat[i])
			refs = m.appendWide(refs, entry&entryMask, p, b.spots[k])
		default:
			refs = m.appendLocals(refs, entry&entryMask, b.inside[k])
		}
		offsets = append(offsets, uint32(len(refs)))
	}
	dst.Refs, dst.Offsets = refs, offsets
}
