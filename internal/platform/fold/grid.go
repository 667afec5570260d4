package fold

import (
	"cmp"
	"math"
	"slices"

	"paddock/fence/geometry"
)

// grid holds the seats of all movers by cell. A cell is nearly square, and its side is a power of
// two in metres. There are two lists for a cell, ascending by fleet and id: of the objects that the
// rule selects, and of the others. An object may be in both.
type grid map[cell]*[2][]*seat

// cell is a cell of a rule: its row from the equator, and its column from longitude -180. The same
// point is in the same cell of each run, but nothing depends on it.
type cell struct {
	rule     *second
	level    int8 // the side is 2 to this power
	row, col int32
}

// The lists of a cell, as bits of seat.sides.
const (
	selected = 1 << iota // by the rule
	partner              // by its near
)

// levelOf returns the level of cells for a distance: they are as large, or up to twice as large.
func levelOf(metres float64) int8 {
	_, exponent := math.Frexp(max(metres, 1))
	return int8(exponent)
}

// rows returns the height of cells in degrees.
func rowHeight(level int8) float64 { return math.Ldexp(1, int(level)) / geometry.LatDegree }

// columns returns the number of columns of a row: they are at least as wide as high.
func columns(level int8, row int32) int32 {
	h := rowHeight(level)
	furthest := min(max(math.Abs(float64(row)*h), math.Abs(float64(row+1)*h)), 90)
	return int32(max(math.Floor(360*geometry.LonDegree(furthest)/math.Ldexp(1, int(level))), 1))
}

// cellOf returns the cell of a point.
func cellOf(rule *second, level int8, p geometry.Point) cell {
	row := int32(math.Floor(p.Lat / rowHeight(level)))
	n := columns(level, row)
	return cell{rule, level, row, wrap(column(p.Lon, n), n)}
}

// column returns the column of a longitude, which may be beyond 180.
func column(lon float64, n int32) int32 { return int32(math.Floor((lon + 180) * float64(n) / 360)) }

func wrap(col, n int32) int32 { return (col%n + n) % n }

// around calls f for the cells with places within so many metres of a point, until it returns
// false.
func around(rule *second, p geometry.Point, metres float64, f func(c cell) bool) {
	level := rule.level()
	h := rowHeight(level)
	box := geometry.Box{MinLon: p.Lon, MaxLon: p.Lon, MinLat: p.Lat, MaxLat: p.Lat}.Widened(metres)
	for row := int32(math.Floor(max(box.MinLat, -90) / h)); row <= int32(math.Floor(min(box.MaxLat, 90)/h)); row++ {
		n := columns(level, row)
		from, to := column(box.MinLon, n), column(box.MaxLon, n)
		to = min(to, from+n-1)
		for col := from; col <= to; col++ {
			if !f(cell{rule, level, row, wrap(col, n)}) {
				return
			}
		}
	}
}

// put adds a seat to its cell.
func (g grid) put(x *seat) {
	lists := g[x.cell]
	if lists == nil {
		lists = &[2][]*seat{}
		g[x.cell] = lists
	}
	for i := range lists {
		if x.sides>>i&1 != 0 {
			at, _ := slices.BinarySearchFunc(lists[i], x, (*seat).compare)
			lists[i] = slices.Insert(lists[i], at, x)
		}
	}
}

// take removes a seat from its cell.
func (g grid) take(x *seat) {
	lists := g[x.cell]
	for i := range lists {
		if x.sides>>i&1 != 0 {
			at, _ := slices.BinarySearchFunc(lists[i], x, (*seat).compare)
			lists[i] = slices.Delete(lists[i], at, at+1)
		}
	}
	if len(lists[0])+len(lists[1]) == 0 {
		delete(g, x.cell)
	}
}

// compare orders movers by fleet and id.
func (m *mover) compare(o *mover) int {
	return cmp.Or(cmp.Compare(m.fleet, o.fleet), cmp.Compare(m.id, o.id))
}

// compare orders the seats of a rule by their objects.
func (x *seat) compare(y *seat) int { return x.mover.compare(y.mover) }
