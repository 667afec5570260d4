package cellmap

import (
	"math"
	"slices"

	"paddock/fence/geometry"
)

// A record is a row of words:
//
//	head       locals | edges << edgesShift | corner << cornerShift: bit i of corner says
//	           that local i holds the cell's south-west corner; or wideRecord
//	refs       one word for each local: a part of a fence, ascending by fence and part
//	edges      edgeWords for each edge
//	places     one word for each edge: the place of the vertex that it ends with in its ring;
//	           where the cellmap is named, endsWords instead: longitude and latitude of lo
//	           and hi, each with its lower word first
//
// An edge goes from its end lo with the lesser latitude to hi; of two on one latitude lo is
// the western one. Its words are two halves each, low and high:
//
//	lo         longitude and latitude, from the cell's corner, rounded down
//	size       hi minus lo, of the rounded ones: longitude and latitude
//	sides      bit i: local i is on one side of it; flags
//
// They count in units, or in such multiples that a cell is not wider than 1<<scaleBits. Of an
// edge that leaves the window around the cell only what is in the window is there.
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
//     is to its right. Both say: if p is not on the side of r, where flagRight is not.
//   - p is north of hi: the second leg does not cross. The first does if the edge spans
//     r's longitude and r is on the edge's southern side: flagNorth.
//
// An edge that is cut off where it leaves the window to the west or east has the same answer
// for p south of what is left of it, or north, as in the second case: it is then level with a
// piece all to the west of r and p, or all to the east.
const (
	edgesShift   = 5
	cornerShift  = 16
	recordLocals = 1<<edgesShift - 1
	recordEdges  = 1<<(cornerShift-edgesShift) - 1
	maxLocals    = 16
	maxEdges     = recordEdges
	wideRecord   = recordLocals // in place of a number of locals

	edgeWords = 3
	endsWords = 8

	flagRight = 1 << 31          // r is to the right of the edge, or it is all to the west
	flagNorth = 1 << 30          // the path to a point north of the edge crosses it
	localBits = 1<<maxLocals - 1 // of the sides

	scaleBits = 13
	windowMin = -(1 << scaleBits)
	windowMax = 2 << scaleBits
)

// recordScale is the number of bits by which a record's units are coarser than the map's, in
// a cell that is 1<<shift units wide.
func recordScale(shift uint) uint { return max(shift, scaleBits) - scaleBits }

// inside says which locals of a record hold p, which is at a spot of its cell. It knows
// nothing of wide records.
func (m *Map) inside(record uint32, p geometry.Point, at spot) uint32 {
	head := m.Words[record]
	locals, edges := head&recordLocals, head>>edgesShift&recordEdges
	from := record + 1 + locals
	flips, unsure := crossUnits(m.Words[from:from+edges*edgeWords], at)
	if unsure {
		return m.insideExactly(record, p, at)
	}
	return head>>cornerShift ^ flips
}

// crossUnits says which locals the path from the corner to a spot leaves or enters. It decides
// by whole units, each of which stands for all coordinates in it; where other points of the
// unit might have another answer it is unsure.
//
// The determinant of the rounded vectors D = hi - lo and P = p - lo errs by at most
// |Dx| + |Dy| + |Px| + |Py| + 2, since each coordinate of theirs errs by less than one. Where
// it matters p is level with the edge, so |Py| <= |Dy|. And it is enough to look at
// |Px| <= |Dx| + 1: if |Px| is more, p is beyond both ends, and the determinant has the right
// sign whatever it is. That makes 2|Dx| + 2|Dy| + 3. Ends that are cut off err by cutSlack more,
// which times 2^16 is not more than the rest of [unsureSlack].
func crossUnits(edges []uint32, at spot) (flips uint32, unsure bool) {
	sure := int32(-1)
	for ; len(edges) >= edgeWords; edges = edges[edgeWords:] {
		e := seen(edges[0], edges[1], at)
		det, far := e.turn()
		f, s := e.cross(edges[2], det, far)
		flips ^= f
		sure &= s
	}
	return flips, sure >= 0
}

// seenEdge is an edge of a record as it is seen from a spot: P and D of crossUnits. Their
// products are below 1<<30, since a window is 3<<scaleBits wide.
type seenEdge struct{ px, py, dx, dy int32 }

// seen gives an edge with these words.
func seen(lo, size uint32, at spot) seenEdge {
	return seenEdge{int32(at.x) - int32(int16(lo)), int32(at.y) - int32(lo)>>16, int32(int16(size)), int32(size >> 16)}
}

// unsureSlack is what a determinant may err by beside its vectors' lengths.
const unsureSlack = 40

// turn is the determinant, and a negative number if its sign is certain.
func (e seenEdge) turn() (det, far int32) {
	det = e.dx*e.py - e.dy*e.px
	bound := 2*(abs(e.dx)+e.dy) + unsureSlack
	return det, (det + bound) | (bound - det) // these are all negative or not
}

// cross says which locals change sides, and is sure of it if the other number is negative. The
// cases are told apart without branches, which no processor could foresee: a streets' corner
// looks like dice.
func (e seenEdge) cross(sides uint32, det, far int32) (flips uint32, sure int32) {
	south, level, north := e.py, -e.py&(e.py-e.dy), e.dy-e.py // one is negative at most
	crossed := (level&(det^int32(sides)) | north&int32(sides<<1)) >> 31
	return uint32(crossed) & sides & localBits, south | north | level&far
}

func abs(x int32) int32 { return max(x, -x) }

// insideExactly is inside, with the coordinates themselves asked where units cannot decide.
func (m *Map) insideExactly(record uint32, p geometry.Point, at spot) uint32 {
	head := m.Words[record]
	locals, edges := head&recordLocals, head>>edgesShift&recordEdges
	first := record + 1 + locals
	inside, touched := head>>cornerShift, uint32(0)
	for i := range edges {
		edge := m.Words[first+i*edgeWords:][:edgeWords]
		flips, unsure := crossUnits(edge, at)
		if unsure {
			lo, hi := m.endsOf(first+edges*edgeWords, i)
			flips = 0
			if crosses(lo, hi, edge[2], p) {
				flips = edge[2]
			}
			if m.rule != geometry.HalfOpen && geometry.OnEdge(lo, hi, p) {
				touched |= edge[2]
			}
		}
		inside ^= flips
	}
	return combine(m.rule, inside, touched) & localBits
}

// combine gives what holds a point under the rule, of what holds it by the half-open one and
// of what has it on an edge.
func combine(r geometry.Rule, inside, touched uint32) uint32 {
	switch r {
	case geometry.Closed:
		return inside | touched
	case geometry.Open:
		return inside &^ touched
	}
	return inside
}

// crosses says whether the path to p crosses an edge that has these flags.
func crosses(lo, hi geometry.Point, flags uint32, p geometry.Point) bool {
	switch {
	case p.Lat < lo.Lat:
		return false
	case p.Lat >= hi.Lat:
		return flags&flagNorth != 0
	}
	return (geometry.Orient(lo, hi, p) > 0) == (flags&flagRight != 0)
}

// endsOf are the ends of the i-th edge of a record whose places begin at a word.
func (m *Map) endsOf(places, i uint32) (lo, hi geometry.Point) {
	if !m.named {
		return m.ends(m.Words[places+i])
	}
	w := m.Words[places+i*endsWords:][:endsWords]
	at := func(k int) float64 { return math.Float64frombits(uint64(w[k]) | uint64(w[k+1])<<32) }
	return geometry.Point{Lon: at(0), Lat: at(2)}, geometry.Point{Lon: at(4), Lat: at(6)}
}

// appendEnds appends what a record has of the ends of an edge.
func (m *Map) appendEnds(words []uint32, e *ringEdge) []uint32 {
	if !m.named {
		return append(words, e.place)
	}
	lo, hi := m.endsIn(e.ring, e.place)
	for _, x := range [...]float64{lo.Lon, lo.Lat, hi.Lon, hi.Lat} {
		b := math.Float64bits(x)
		words = append(words, uint32(b), uint32(b>>32))
	}
	return words
}

// ends are those of the edge with which the vertex at a place ends, in their order.
func (m *Map) ends(place uint32) (lo, hi geometry.Point) {
	ring, found := slices.BinarySearch(m.starts, place)
	if !found {
		ring--
	}
	return m.endsIn(uint32(ring), place)
}

// endsIn is ends for a place in a ring that is known.
func (m *Map) endsIn(ring, place uint32) (lo, hi geometry.Point) {
	r, i := m.rings[ring], int(place-m.starts[ring])
	before := i - 1
	if before < 0 {
		before = len(r) - 1
	}
	return ascending(r[before], r[i])
}

// ascending orders the ends of an edge: by latitude, then by longitude.
func ascending(a, b geometry.Point) (lo, hi geometry.Point) {
	if a.Lat > b.Lat || a.Lat == b.Lat && a.Lon > b.Lon {
		return b, a
	}
	return a, b
}
