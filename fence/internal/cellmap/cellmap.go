package cellmap

import (
	"math"
	"math/bits"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// The grid of a cellmap is dyadic: its unit is 2^-unitBits degrees, 1.3 cm of latitude, and
// every border of a cell is a whole number of units. So the unit of a coordinate is found
// without rounding, and no point is ever put into a cell that does not hold it.
const (
	unitBits = 23
	perUnit  = 1 << unitBits // units in a degree
)

// nodeBits says that a node divides a cell into 2 x 2. Larger nodes have shorter ways, but
// more of what is not needed, which takes the caches from what is.
const (
	nodeBits = 1
	nodeSide = 1 << nodeBits
	nodeSize = nodeSide * nodeSide
)

// An entry says what is in a cell, in the two upper bits, and where, in the others.
const (
	entryBits = 30
	entryMask = 1<<entryBits - 1

	entryList uint32 = 0 << entryBits // the offset of a list of refs; 0 = none
	entryOne  uint32 = 1 << entryBits // a ref: the cell is all inside one fence
	EntryCell uint32 = 2 << entryBits // the offset of a record: edges go through the cell
	EntryNode uint32 = 3 << entryBits // the index of the first of nodeSize entries
)

// Map is an index that cuts the plane into cells. Most cells lie wholly inside the same fences,
// and list them. The other cells have a record of the edges that go through them. A Map is
// immutable, and its arrays except rings hold no pointers.
//
// A record lists the parts of fences that hold the south-west corner of its cell. From there a path
// leads north and then east to the point. Each edge that it crosses puts the point on the other
// side of that edge's parts. An edge that two fences share is crossed once for both. record.go has
// the details. The result is exact: where integers cannot decide, the coordinates themselves do, by
// geometry.Orient.
type Map struct {
	rule   geometry.Rule
	x0, y0 int32 // units; of the grid's south-west corner
	Shift  uint  // a root cell is 1<<shift units wide
	W, H   uint32
	Dir    []uint32        // entries: w*h of the root cells, row by row from the south, then nodes
	Words  []uint32        // records and lists
	rings  []geometry.Ring // of the edges: the fences' own
	starts []uint32        // of the rings: the place of the first vertex, if all are counted
	named  bool            // records have the ends of their edges, so that neither is needed
}

// ToUnits is the largest whole number of units that is not above a coordinate in degrees,
// whose magnitude must not be above 256.
func ToUnits(x float64) int32 {
	t := x * perUnit // exact
	u := int32(t)
	if float64(u) > t {
		u--
	}
	return u
}

// ToDegrees is exact.
func ToDegrees(u int64) float64 { return float64(u) / perUnit }

// spot is the place of a point in its cell, from the south-west corner, in the units of the
// cell's record.
type spot struct{ x, y uint32 }

// find gives the entry of the cell that holds p, and where in it p is. For a point beyond
// the grid, or that is not finite, the entry is an empty list.
func (m *Map) find(p geometry.Point) (entry uint32, at spot) {
	if !hasUnits(p) {
		return entryList, spot{}
	}
	place := m.place(p)
	entry, shift := m.root(place), m.Shift&31
	for entry >= EntryNode {
		shift = (shift - nodeBits) & 31
		child := place.y>>shift&(nodeSide-1)<<nodeBits + place.x>>shift&(nodeSide-1)
		entry = m.Dir[entry&entryMask+child]
	}
	return entry, place.within(shift)
}

// hasUnits says whether the coordinates may be given to toUnits.
func hasUnits(p geometry.Point) bool { return math.Abs(p.Lon) <= 256 && math.Abs(p.Lat) <= 256 }

// place is where p is, from the grid's corner; beyond the grid if p is to the west or south.
func (m *Map) place(p geometry.Point) spot {
	return spot{uint32(ToUnits(p.Lon) - m.x0), uint32(ToUnits(p.Lat) - m.y0)}
}

// root gives the entry of the root cell at a place: an empty list if that is beyond the grid.
func (m *Map) root(at spot) uint32 {
	cx, cy := at.x>>(m.Shift&31), at.y>>(m.Shift&31)
	if cx >= m.W || cy >= m.H {
		return entryList
	}
	return m.Dir[cy*m.W+cx]
}

// within gives the place in a cell of a place in the grid. The grid begins at the corner of a
// root cell, so that both count from corners of all.
func (s spot) within(shift uint) spot {
	scale := recordScale(shift)
	inside := uint32(1)<<(shift&31) - 1
	return spot{s.x & inside >> scale, s.y & inside >> scale}
}

// append appends the refs of what holds p, which is normalized.
//
// hot: guarded by BenchmarkBuses and the conformance suite's "does not allocate".
func (m *Map) append(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	entry, at := m.find(p)
	switch {
	case entry >= EntryCell:
		return m.appendRecord(dst, entry&entryMask, p, at)
	case entry >= entryOne:
		return append(dst, geojson.Ref(entry&entryMask))
	}
	return m.appendList(dst, entry&entryMask)
}

func (m *Map) appendList(dst []geojson.Ref, at uint32) []geojson.Ref {
	n := m.Words[at]
	for _, r := range m.Words[at+1 : at+1+n] {
		dst = append(dst, geojson.Ref(r))
	}
	return dst
}

// appendRecord is append for a point in a cell with a record.
func (m *Map) appendRecord(dst []geojson.Ref, record uint32, p geometry.Point, at spot) []geojson.Ref {
	if m.Words[record]&recordLocals == wideRecord {
		return m.appendWide(dst, record, p, at)
	}
	return m.appendLocals(dst, record, m.inside(record, p, at))
}

// appendLocals appends the refs of a record's locals that hold a point.
func (m *Map) appendLocals(dst []geojson.Ref, record, inside uint32) []geojson.Ref {
	refs := m.Words[record+1:]
	from := len(dst)
	for ; inside != 0; inside &= inside - 1 {
		r := geojson.Ref(refs[bits.TrailingZeros32(inside)])
		if len(dst) > from && dst[len(dst)-1] == r {
			continue // another part of the same fence
		}
		dst = append(dst, r)
	}
	return dst
}

// bytes is what m takes beside the rings.
func (m *Map) bytes() int64 {
	const ringBytes = 24 + 4
	return int64(4*(len(m.Dir)+len(m.Words)) + ringBytes*len(m.rings))
}
