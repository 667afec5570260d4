package fence

import (
	"math"
	"math/bits"
)

// The grid of a cellmap is dyadic: its unit is 2^-unitBits degrees, 1.3 cm of latitude, and
// every border of a cell is a whole number of units. So the unit of a coordinate is found
// without rounding, and no point is ever put into a cell that does not hold it.
const (
	unitBits = 23
	perUnit  = 1 << unitBits // units in a degree
)

// nodeBits says that a node divides a cell into 4 x 4, whose entries fill a cache line.
const (
	nodeBits = 2
	nodeSide = 1 << nodeBits
	nodeSize = nodeSide * nodeSide
)

// An entry says what is in a cell, in the two upper bits, and where, in the others.
const (
	entryBits = 30
	entryMask = 1<<entryBits - 1

	entryList uint32 = 0 << entryBits // the offset of a list of refs; 0 = none
	entryOne  uint32 = 1 << entryBits // a ref: the cell is all inside one fence
	entryCell uint32 = 2 << entryBits // the offset of a record: edges go through the cell
	entryNode uint32 = 3 << entryBits // the index of the first of nodeSize entries
)

// cellmap is an index for which the world is cut into cells. Most cells lie wholly inside
// the same fences, and know which; the others have a record of the edges that go through
// them. Its arrays hold no pointers, and nobody changes them.
//
// A record says which parts of fences hold the south-west corner of its cell. From there a
// path leads north and then east to the point, and each edge that it crosses puts the
// point on the other side of that edge's parts. An edge that two fences share is crossed
// once for both. What that takes is worked out in [record]; it is exact, since integers
// that cannot decide leave it to the coordinates themselves, and those to orient.
type cellmap struct {
	x0, y0 int32 // units; of the grid's south-west corner
	shift  uint  // a root cell is 1<<shift units wide
	w, h   uint32
	dir    []uint32 // entries: w*h of the root cells, row by row from the south, then nodes
	words  []uint32 // records and lists
	rings  []Ring   // of the edges: the fences' own
	starts []uint32 // of the rings: the place of the first vertex, if all are counted
}

// toUnits is the largest whole number of units that is not above a coordinate in degrees,
// whose magnitude must not be above 256.
func toUnits(x float64) int32 {
	t := x * perUnit // exact
	u := int32(t)
	if float64(u) > t {
		u--
	}
	return u
}

// toDegrees is exact.
func toDegrees(u int64) float64 { return float64(u) / perUnit }

// find gives the entry of the cell that holds p. For a point beyond the grid that is an
// empty list.
func (m *cellmap) find(p Point) (entry uint32, x, y int32) {
	if !(math.Abs(p.Lon) <= 256 && math.Abs(p.Lat) <= 256) {
		return entryList, 0, 0
	}
	x, y = toUnits(p.Lon), toUnits(p.Lat)
	cx, cy := uint32(x-m.x0)>>m.shift, uint32(y-m.y0)>>m.shift
	if cx >= m.w || cy >= m.h {
		return entryList, x, y
	}
	entry = m.dir[cy*m.w+cx]
	for shift := m.shift; entry >= entryNode; {
		shift -= nodeBits
		at := entry & entryMask
		at += uint32(y)>>shift&(nodeSide-1)<<nodeBits | uint32(x)>>shift&(nodeSide-1)
		entry = m.dir[at]
	}
	return entry, x, y
}

// append appends the refs of what holds p, which is normalized.
//
// hot: guarded by BenchmarkAppend and the conformance suite's "does not allocate".
func (m *cellmap) append(dst []Ref, p Point) []Ref {
	entry, x, y := m.find(p)
	switch {
	case entry >= entryCell:
		return m.appendCell(dst, entry&entryMask, p, x, y)
	case entry >= entryOne:
		return append(dst, Ref(entry&entryMask))
	}
	return m.appendList(dst, entry&entryMask)
}

func (m *cellmap) appendList(dst []Ref, at uint32) []Ref {
	n := m.words[at]
	for _, r := range m.words[at+1 : at+1+n] {
		dst = append(dst, Ref(r))
	}
	return dst
}

// appendCell is append for a point in a cell with a record.
func (m *cellmap) appendCell(dst []Ref, at uint32, p Point, x, y int32) []Ref {
	if m.words[at] == bigRecord {
		return m.appendBig(dst, at, p)
	}
	refs, inside := m.inside(at, p, x, y)
	from := len(dst)
	for ; inside != 0; inside &= inside - 1 {
		r := Ref(refs[bits.TrailingZeros64(inside)])
		if len(dst) > from && dst[len(dst)-1] == r {
			continue // another part of the same fence
		}
		dst = append(dst, r)
	}
	return dst
}

// inside gives the refs of a record, and which of them hold p. It knows nothing of big
// records.
func (m *cellmap) inside(at uint32, p Point, x, y int32) (refs []uint32, inside uint64) {
	head := m.words[at]
	locals := head & recordLocals
	if locals == bigRecord {
		return nil, 0
	}
	record := m.words[at : at+recordHead+locals+head>>recordShift*edgeWords]
	inside = uint64(record[1]) | uint64(record[2])<<32
	inside ^= m.cross(record[recordHead+locals:], p, x, y)
	return record[recordHead : recordHead+locals], inside & (1<<locals - 1)
}

// batchSize is how many points are located before the first of them is looked into: their
// loads overlap.
const batchSize = 64

// located is a point of a batch on its way to its answer.
type located struct {
	p     Point
	x, y  int32
	entry uint32
	ref   Ref // the answer, if it is but one
}

// appendBatch appends one answer for each point. It does not allocate if dst has room.
//
// It goes over the points again and again, and does one thing each time, so that the
// processor can foresee what comes: which points lie in cells with edges it could not.
//
// hot: guarded by BenchmarkAppendBatch and the conformance suite's "does not allocate".
func (m *cellmap) appendBatch(dst *Batch, lon, lat []float64) {
	var (
		points [batchSize]located
		edged  [batchSize + 1]uint8 // those in cells with a record
	)
	for len(lon) > 0 {
		n := min(len(lon), len(lat), batchSize)
		k := 0
		for i := range n {
			at := &points[i]
			p, ok := normalize(lon[i], lat[i])
			at.p, at.entry = p, entryList
			if ok {
				at.entry, at.x, at.y = m.find(p)
			}
			edged[k] = uint8(i)
			k += int(at.entry >> (entryBits + 1)) // entryCell, as no entryNode comes here
			at.ref = Ref(at.entry & entryMask)
		}
		for _, i := range edged[:k] {
			at := &points[i]
			record, inside := m.inside(uint32(at.ref), at.p, at.x, at.y)
			if inside&(inside-1) == 0 && inside != 0 {
				at.entry, at.ref = entryOne, Ref(record[bits.TrailingZeros64(inside)])
			}
		}
		refs, offsets := dst.Refs, dst.Offsets
		for i := range points[:n] {
			switch at := &points[i]; {
			case at.entry&^entryMask == entryOne:
				refs = append(refs, at.ref)
			case at.entry >= entryCell:
				refs = m.appendCell(refs, at.entry&entryMask, at.p, at.x, at.y)
			default:
				refs = m.appendList(refs, at.entry&entryMask)
			}
			offsets = append(offsets, uint32(len(refs)))
		}
		dst.Refs, dst.Offsets = refs, offsets
		lon, lat = lon[n:], lat[n:]
	}
}

// bytes is what m takes beside the rings.
func (m *cellmap) bytes() int64 {
	const ringBytes = 24 + 4
	return int64(4*(len(m.dir)+len(m.words)) + ringBytes*len(m.rings))
}
