package cellmap

import (
	"math"

	"paddock/fence/geometry"
)

// layOut chooses the grid: cells as small as roots allows.
func (b *cellBuilder) layOut(roots int) {
	// One unit more all around: nothing lies to the west of the first column, and what is on
	// the border of all is in a cell.
	x0, y0 := ToUnits(b.bounds.MinLon)-1, ToUnits(b.bounds.MinLat)-1
	x1, y1 := ToUnits(b.bounds.MaxLon)+1, ToUnits(b.bounds.MaxLat)+1
	m := &b.m
	for m.Shift = MinShift; ; m.Shift++ {
		m.x0, m.y0 = x0>>m.Shift<<m.Shift, y0>>m.Shift<<m.Shift
		m.W, m.H = uint32(x1-m.x0)>>m.Shift+1, uint32(y1-m.y0)>>m.Shift+1
		if uint64(m.W)*uint64(m.H) <= uint64(roots) || m.Shift >= 30 {
			break
		}
	}
}

// square is a cell: closed, in units.
type square struct {
	x, y  int64
	shift uint
}

func (m *Map) cell(cx, cy uint32) square {
	return square{int64(m.x0) + int64(cx)<<m.Shift, int64(m.y0) + int64(cy)<<m.Shift, m.Shift}
}

// span is a range of columns and one of rows, with their ends.
type span struct{ x0, y0, x1, y1 uint32 }

// one says whether the span has but one row or column.
func (s span) one() bool { return s.x0 == s.x1 || s.y0 == s.y1 }

// cells is the span of the root cells whose closed rectangles the edge's box may touch.
//
// An edge in unit u lies in [u, u+1]: it may touch the cell that ends with u+1 and the one
// that begins there.
func (m *Map) cells(e *ringEdge) span {
	return span{
		uint32(min(e.x, e.x1)-1-m.x0) >> m.Shift, uint32(e.y-1-m.y0) >> m.Shift,
		min(uint32(max(e.x, e.x1)+1-m.x0)>>m.Shift, m.W-1), min(uint32(e.y1+1-m.y0)>>m.Shift, m.H-1),
	}
}

// narrow bounds the columns in which a long edge is in one row, with room for rounding.
func (m *Map) narrow(e *ringEdge, cy, west, east uint32) (uint32, uint32) {
	if e.y1-e.y < 2 {
		return west, east
	}
	south := float64(m.y0) + float64(cy)*float64(int64(1)<<m.Shift)
	north := south + float64(int64(1)<<m.Shift)
	slope := (float64(e.x1) - float64(e.x)) / float64(e.y1-e.y) // in longitude it may be over 1<<31 units
	at := func(y float64) float64 {
		return float64(e.x) + slope*(min(max(y, float64(e.y)), float64(e.y1))-float64(e.y))
	}
	a, b := at(south-2), at(north+2)
	margin := 4 + 4*math.Abs(slope)
	column := func(x float64) uint32 {
		return uint32(min(max(x-float64(m.x0), 0), math.MaxUint32)) >> m.Shift
	}
	return max(west, column(min(a, b)-margin)), min(east, column(max(a, b)+margin))
}

// children has a bit for each of the cells into which a node divides a cell, row by row from the
// south.
type children uint8

const (
	allChildren   children = 1<<nodeSize - 1
	westChildren  children = 1<<0 | 1<<nodeSide
	eastChildren  children = westChildren << 1
	southChildren children = 1<<0 | 1<<1
	northChildren children = southChildren << nodeSide
)

// children are those whose closed rectangles the edge may touch.
func (s square) children(e *ringEdge) children {
	x, y := s.x+1<<(s.shift-nodeBits), s.y+1<<(s.shift-nodeBits)
	c := allChildren
	if int64(min(e.x, e.x1))-1 >= x {
		c &= eastChildren
	} else if int64(max(e.x, e.x1))+1 < x {
		c &= westChildren
	}
	if int64(e.y)-1 >= y {
		return c & northChildren
	} else if int64(e.y1)+1 < y {
		return c & southChildren
	}
	if c != allChildren {
		return c
	}
	for k := range nodeSize {
		if !s.child(int64(k%nodeSide), int64(k/nodeSide)).mayTouch(e) {
			c &^= 1 << k
		}
	}
	return c
}

func (s square) child(x, y int64) square {
	shift := s.shift - nodeBits
	return square{s.x + x<<shift, s.y + y<<shift, shift}
}

// mayTouch is false only if the edge certainly has no point in the closed cell, which is if
// all corners of the cell are certainly on one side of it. The edge's box touches the cell.
func (s square) mayTouch(e *ringEdge) bool {
	side := float64(int64(1) << s.shift)
	dx, dy := float64(int64(e.x1)-int64(e.x)), float64(int64(e.y1)-int64(e.y))
	px, py := float64(s.x-int64(e.x)), float64(s.y-int64(e.y))
	// The determinant, for a corner, of the vectors from lo to hi and to the corner. Those
	// of the other corners add dx*side or take away dy*side.
	det := float64(dx*py) - float64(dy*px)
	least, most := det-float64(dy*side)+min(float64(dx*side), 0), det+max(float64(dx*side), 0)
	bound := errorBound(dx, dy, math.Abs(px)+side, math.Abs(py)+side)
	return least <= bound && most >= -bound
}

// errorBound is how much a determinant of rounded vectors may err, which are of whole units
// below 1<<33, of that of the true ones. Float64's rounding is much less than the rest: a
// product of whole numbers is exact below 1<<53, and else errs by less than a 2^-19th of
// either.
func errorBound(dx, dy, px, py float64) float64 {
	return 1.01*(math.Abs(dx)+math.Abs(dy)+math.Abs(px)+math.Abs(py)) + 4
}

// side says exactly on which side of the edge a point of whole units is: as orient does.
func (m *Map) side(e *ringEdge, x, y int64) int {
	dx, dy := float64(int64(e.x1)-int64(e.x)), float64(int64(e.y1)-int64(e.y))
	px, py := float64(x-int64(e.x)), float64(y-int64(e.y))
	det := float64(dx*py) - float64(dy*px)
	bound := errorBound(dx, dy, px, py)
	switch {
	case det > bound:
		return 1
	case det < -bound:
		return -1
	}
	lo, hi := m.endsIn(e.ring, e.place)
	return geometry.Orient(lo, hi, geometry.Point{Lon: ToDegrees(x), Lat: ToDegrees(y)})
}

// crossesAt is crosses for a point of whole units, decided by units where these can.
func (m *Map) crossesAt(e *ringEdge, flags uint32, x, y int64) bool {
	switch {
	case y < int64(e.y):
		return false
	case y > int64(e.y1):
		return flags&flagNorth != 0
	case y > int64(e.y) && y < int64(e.y1):
		return (m.side(e, x, y) > 0) == (flags&flagRight != 0)
	}
	lo, hi := m.endsIn(e.ring, e.place)
	return crosses(lo, hi, flags, geometry.Point{Lon: ToDegrees(x), Lat: ToDegrees(y)})
}

// within says whether the path from the cell's corner to some point of the half-open cell
// may cross the edge, or, where boundaries count, such a point may be on it.
func (m *Map) within(e *ringEdge, cell square) bool {
	side := int64(1) << cell.shift
	east, north := int64(max(e.x, e.x1)), int64(e.y1)
	if int64(min(e.x, e.x1)) >= cell.x+side || int64(e.y) >= cell.y+side || east < cell.x || north < cell.y {
		return false
	}
	if m.rule != geometry.HalfOpen || east > cell.x && north > cell.y {
		return true
	}
	lo, hi := m.endsIn(e.ring, e.place)
	return max(lo.Lon, hi.Lon) > ToDegrees(cell.x) && hi.Lat > ToDegrees(cell.y)
}

// flags are those of the edge in a record of a cell whose corner is (x, y).
func (m *Map) flags(e *ringEdge, x, y int64) (flags uint32) {
	west, east := int64(min(e.x, e.x1)), int64(max(e.x, e.x1))
	level, eastward := false, e.x1 > e.x
	if west == x || east == x || e.x == e.x1 || e.y == e.y1 {
		lo, hi := m.endsIn(e.ring, e.place)
		level, eastward = lo.Lat == hi.Lat, hi.Lon > lo.Lon
		if min(lo.Lon, hi.Lon) > ToDegrees(x) {
			west = x + 1
		}
		if max(lo.Lon, hi.Lon) <= ToDegrees(x) {
			east = x - 1
		}
	}
	switch {
	case west > x:
		return 0
	case east < x:
		return flagRight
	}
	side := m.side(e, x, y)
	left := side > 0 || side == 0 && level
	if !left {
		flags |= flagRight
	}
	// North of the edge is to its left if it leads eastward.
	if left != (level || eastward) {
		flags |= flagNorth
	}
	return flags
}
