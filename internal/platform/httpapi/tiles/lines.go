package tiles

import (
	"math"

	"paddock/fence/geometry"
)

// line draws the pieces of a line that are in the tile.
func (d *drawing) line(l geometry.Line) {
	d.grid = d.grid[:0]
	for i := range l.Edges() {
		a, b := l.Edge(i)
		if beyond(d.bounds, a)&beyond(d.bounds, b) != 0 {
			continue
		}
		u, v := d.tile.project(a), d.tile.project(b)
		d.ring = append(d.tile.bend(append(d.ring[:0], u), a, b, u, v, d.bounds), v)
		for k := 1; k < len(d.ring); k++ {
			if from, to, ok := clipEdge(d.ring[k-1], d.ring[k]); ok {
				d.stroke(from, to)
			}
		}
	}
	d.endStroke()
}

// stroke goes on with a line, or begins a new piece of it if the line has left the tile meanwhile.
// It leaves out a vertex that is within the tolerance of the one before.
func (d *drawing) stroke(from, to vertex) {
	if len(d.grid) == 0 || from != d.pen {
		d.endStroke()
		d.grid = append(d.grid, rounded(from))
	}
	if n := len(d.grid); n > 1 && d.tile.Z < MaxZoom && together(d.grid[n-2], d.grid[n-1]) {
		d.grid = d.grid[:n-1]
	}
	if b := rounded(to); d.grid[len(d.grid)-1] != b {
		d.grid = append(d.grid, b)
	}
	d.pen = to
}

// together reports whether two places are within the tolerance of each other.
func together(a, b grid) bool {
	return max(a.x-b.x, b.x-a.x, a.y-b.y, b.y-a.y) < tolerance
}

func (d *drawing) endStroke() {
	if len(d.grid) > 1 {
		d.fences.shape.path(d.grid)
	}
	d.grid = d.grid[:0]
}

func rounded(v vertex) grid { return grid{int32(math.Round(v.x)), int32(math.Round(v.y))} }

// clipEdge returns the part of an edge that is in the tile and its buffer, if any (Liang and
// Barsky).
func clipEdge(u, v vertex) (from, to vertex, ok bool) {
	const low, high = -buffer, Extent + buffer
	enter, leave := 0.0, 1.0
	for _, side := range [...]struct{ at, step float64 }{{u.x, v.x - u.x}, {u.y, v.y - u.y}} {
		if side.step == 0 {
			if side.at < low || side.at > high {
				return u, v, false
			}
			continue
		}
		a, b := (low-side.at)/side.step, (high-side.at)/side.step
		enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
	}
	at := func(t float64) vertex { return vertex{u.x + t*(v.x-u.x), u.y + t*(v.y-u.y)} }
	from, to = u, v
	if enter > 0 {
		from = at(enter)
	}
	if leave < 1 {
		to = at(leave)
	}
	return from, to, enter <= leave
}
