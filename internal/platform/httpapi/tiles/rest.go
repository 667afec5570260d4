package tiles

import "math"

// cells is the number of cells of a side of a tile.
const cells = Extent / cell

// maxRestBytes bounds the layer of the rest: every other cell, each a rectangle of its own, and the
// properties.
const maxRestBytes = cells*cells/2*bytesPerRectangle + 128

// rest marks the places of fences that are not drawn, and counts them.
type rest struct {
	small, dropped int
	rows           [cells][cells / 64]uint64
}

// mark marks the cells that s meets. It reports whether there are any in the tile.
func (r *rest) mark(s span) bool {
	west, east := cellOf(s.west), lastCellOf(s.west, s.east)
	north, south := cellOf(s.north), lastCellOf(s.north, s.south)
	if east < 0 || south < 0 || west >= cells || north >= cells {
		return false
	}
	west, east = max(west, 0), min(east, cells-1)
	for y := max(north, 0); y <= min(south, cells-1); y++ {
		for x := west; x <= east; x++ {
			r.rows[y][x/64] |= 1 << (x % 64)
		}
	}
	return true
}

func cellOf(at float64) int { return int(math.Floor(at / cell)) }

// lastCellOf returns the last cell that contains more of the interval than its end.
func lastCellOf(from, to float64) int { return max(cellOf(from), int(math.Ceil(to/cell))-1) }

func (r *rest) marked(x, y int) bool { return r.rows[y][x/64]&(1<<(x%64)) != 0 }

// rectangles covers the marked cells: runs of a row, and equal runs of the rows below them.
func (r *rest) rectangles(yield func(x, y, width, height int)) {
	todo := *r
	for y := range cells {
		for x := 0; x < cells; x++ {
			if !todo.marked(x, y) {
				continue
			}
			width := 1
			for x+width < cells && todo.marked(x+width, y) {
				width++
			}
			height := 1
			for y+height < cells && todo.takeRun(x, y+height, width) {
				height++
			}
			yield(x, y, width, height)
			x += width
		}
	}
}

// takeRun removes a run of exactly these cells, and reports whether there was one.
func (r *rest) takeRun(x, y, width int) bool {
	if (x > 0 && r.marked(x-1, y)) || (x+width < cells && r.marked(x+width, y)) {
		return false
	}
	for i := x; i < x+width; i++ {
		if !r.marked(i, y) {
			return false
		}
	}
	for i := x; i < x+width; i++ {
		r.rows[y][i/64] &^= 1 << (i % 64)
	}
	return true
}
