package livemap

import (
	"math"

	"paddock/fence/track"
)

const (
	// MaxCell is the finest level of cells: 2^28 of them along the equator, 15 cm each.
	MaxCell = 28
	// mostCells bounds the cells of a frame. Above it, larger cells are taken.
	mostCells = 10_000
	// maxLatitude ends the square of Web Mercator: the poles are infinitely far away.
	maxLatitude = 85.051129
)

// Cell holds the objects within one square of the map.
type Cell struct {
	Lon, Lat        float64 // the mean of their places
	Objects, Silent uint32
}

// gather counts the dots that keep reports in the cells of a level: squares of Web Mercator whose
// sides are 1/2^level of the world's. The squares do not depend on the view, so that a moved map
// shows the same ones. Where dots lie in too many of them, it takes the squares of a lower level.
func gather(dots []track.Dot, keep func(*track.Dot) bool, level int) []Cell {
	for ; ; level-- {
		if cells, ok := gatherIn(dots, keep, level); ok {
			return cells
		}
	}
}

func gatherIn(dots []track.Dot, keep func(*track.Dot) bool, level int) (cells []Cell, ok bool) {
	side := math.Ldexp(1, level)
	index := make(map[uint64]int, 1024)
	for i := range dots {
		d := &dots[i]
		if !keep(d) {
			continue
		}
		x := (d.Point.Lon + 180) / 360
		lat := max(-maxLatitude, min(maxLatitude, d.Point.Lat)) * math.Pi / 360
		y := 0.5 - math.Log(math.Tan(math.Pi/4+lat))/(2*math.Pi)
		key := column(x, side)<<32 | column(y, side)
		at, known := index[key]
		if !known {
			if len(cells) == mostCells && level > 0 {
				return nil, false
			}
			at = len(cells)
			index[key] = at
			cells = append(cells, Cell{})
		}
		c := &cells[at]
		c.Objects++
		c.Lon += d.Point.Lon
		c.Lat += d.Point.Lat
		if d.State == track.Silent {
			c.Silent++
		}
	}
	for i := range cells {
		cells[i].Lon /= float64(cells[i].Objects)
		cells[i].Lat /= float64(cells[i].Objects)
	}
	return cells, true
}

// column returns the number of the cell at a place from 0 to 1 of the world's side.
func column(place, side float64) uint64 {
	return uint64(max(0, min(math.Floor(place*side), side-1)))
}
