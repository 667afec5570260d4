package fence

import (
	"slices"
	"sync"
)

// A record is a row of words:
//
//	head       locals | edges << recordShift, or bigRecord
//	mask       two words: bit i says that local i holds the cell's south-west corner
//	refs       one word for each local: a part of a fence, ascending by fence and part
//	edges      edgeWords for each edge, ascending by the latitude of lo
//
// An edge goes from its end lo with the lesser latitude to hi; of two on one latitude lo is
// the western one. Its words:
//
//	0, 1       lo in units, rounded down
//	2          hi minus lo, of the rounded ones: latitude, and longitude << 16;
//	           the number of the ring for an edge that is too long for that
//	3          the place of the vertex with which the edge ends in its ring
//	4          the locals whose side changes with it, and its flags
//
// Let r be the corner, p the point and q = (r.Lon, p.Lat), each moved by (+e, +e^2) as the
// package comment says, so that none lies on an edge. The path is r -> q -> p. Its first
// leg crosses the edge only if the edge spans the longitude of r, its second only if the
// edge spans the latitude of p. That leaves three cases, for an edge that is not wholly to
// the west of r:
//
//   - p is south of lo: so are r and q, and no leg crosses.
//   - p is level with the edge, lo.Lat <= p.Lat < hi.Lat. If the edge spans r's longitude,
//     it is crossed if r and p are on different sides, whatever the side of q. If it does
//     not it is to the east of r and q, which are to its left, and it is crossed if p
//     is to its right. Both say: if p is not on the side of r, where flagLeft is.
//   - p is north of hi: the second leg does not cross. The first does if the edge spans
//     r's longitude and r is on the edge's southern side: flagNorth.
const (
	recordHead   = 3 // words
	recordShift  = 8
	recordLocals = 1<<recordShift - 1
	maxLocals    = 63 // the last number of a local stands for none
	maxEdges     = 1<<(32-recordShift) - 1
	bigRecord    = recordLocals

	edgeWords = 5
	shortEdge = 1<<15 - 1 // units: a longer one has no word 2

	flipBits  = 6
	flipMask  = 1<<flipBits - 1
	noFlip    = flipMask
	leftBit   = 12
	northBit  = 13
	flagLeft  = 1 << leftBit  // r is to the left of the edge, or the edge is to the east of it
	flagNorth = 1 << northBit // the path to a point north of the edge crosses it
	flagLong  = 1 << 14
)

// cross says which locals the path from the corner to p, which is in unit (x, y), leaves or
// enters. It decides by whole units, each of which stands for all coordinates in it; where
// other points of the unit might have another answer it asks crosses.
//
// The determinant of the rounded vectors D = hi - lo and P = p - lo errs by less than
// |Dx| + |Dy| + |Px| + |Py| + 2, since each coordinate of theirs errs by less than one.
//
// The cases are told apart without branches, which no processor could foresee: a streets'
// corner looks like dice.
func (m *cellmap) cross(edges []uint32, p Point, x, y int32) (flips uint64) {
	for ; len(edges) >= edgeWords; edges = edges[edgeWords:] {
		e := edges[:edgeWords:edgeWords]
		py := int64(y) - int64(int32(e[1]))
		if py < 0 {
			break // as are all that follow
		}
		flags := uint64(e[4])
		dy, dx := int64(e[2]&0xffff), int64(int32(e[2])>>16)
		px := int64(x) - int64(int32(e[0]))
		det := dx*py - dy*px
		level := ^((py - 1) | (dy - 1 - py)) >> 63 // all ones, or zero
		north := (dy - py) >> 63
		close := (abs(det)-(abs(dx)+dy+abs(px)+py+3))>>63 | ^(level | north)
		left := ^det >> 63
		crossed := (uint64(level)&(uint64(left)^flags>>leftBit) | uint64(north)&(flags>>northBit)) & 1
		if close&^north != 0 || flags&flagLong != 0 {
			crossed = m.crossExactly(e, p)
		}
		flips ^= crossed<<(flags&flipMask) ^ crossed<<(flags>>flipBits&flipMask)
	}
	return flips
}

func abs(x int64) int64 { return max(x, -x) }

// crossExactly is 1 if the path to p crosses the edge of a record, else 0.
func (m *cellmap) crossExactly(e []uint32, p Point) uint64 {
	ring := e[2]
	if e[4]&flagLong == 0 {
		i, found := slices.BinarySearch(m.starts, e[3])
		if ring = uint32(i); !found {
			ring--
		}
	}
	if m.crosses(ring, e[3], e[4], p) {
		return 1
	}
	return 0
}

// crosses says whether the path to p crosses the edge at a place in a ring.
func (m *cellmap) crosses(ring, place, flags uint32, p Point) bool {
	lo, hi := m.ends(ring, place)
	return crosses(lo, hi, flags, p)
}

// crosses says whether the path to p crosses an edge that has these flags.
func crosses(lo, hi Point, flags uint32, p Point) bool {
	switch {
	case p.Lat < lo.Lat:
		return false
	case p.Lat >= hi.Lat:
		return flags&flagNorth != 0
	}
	return (orient(lo, hi, p) > 0) != (flags&flagLeft != 0)
}

// ends are those of the edge that ends at a place in a ring, in their order.
func (m *cellmap) ends(ring, place uint32) (lo, hi Point) {
	r, i := m.rings[ring], int(place-m.starts[ring])
	before := i - 1
	if before < 0 {
		before = len(r) - 1
	}
	return ascending(r[before], r[i])
}

// ascending orders the ends of an edge: by latitude, then by longitude.
func ascending(a, b Point) (lo, hi Point) {
	if a.Lat > b.Lat || a.Lat == b.Lat && a.Lon > b.Lon {
		return b, a
	}
	return a, b
}

// A big record is for a cell with more locals or edges than the other form has room for:
//
//	bigRecord, locals, edges
//	mask       one bit for each local, in whole words
//	refs       as above
//	edges      bigEdgeWords for each: place, ring, two locals or noLocal, flags
const (
	bigHead      = 3
	bigEdgeWords = 5
	noLocal      = 1<<32 - 1
)

// scratch holds the masks of big records while they are worked with.
var scratch = sync.Pool{New: func() any { return new([]uint32) }}

func (m *cellmap) appendBig(dst []Ref, at uint32, p Point) []Ref {
	locals, edges := m.words[at+1], m.words[at+2]
	words := (locals + 31) / 32
	at += bigHead
	mask := scratch.Get().(*[]uint32)
	defer scratch.Put(mask)
	inside := append((*mask)[:0], m.words[at:at+words]...)
	*mask = inside
	refs := m.words[at+words : at+words+locals]
	for at += words + locals; edges > 0; edges-- {
		e := m.words[at : at+bigEdgeWords]
		at += bigEdgeWords
		if !m.crosses(e[1], e[0], e[4], p) {
			continue
		}
		for _, local := range e[2:4] {
			if local != noLocal {
				inside[local/32] ^= 1 << (local % 32)
			}
		}
	}
	from := len(dst)
	for i, r := range refs {
		if inside[i/32]>>(i%32)&1 == 1 && (len(dst) == from || dst[len(dst)-1] != Ref(r)) {
			dst = append(dst, Ref(r))
		}
	}
	return dst
}
