package cellmap

import (
	"math"
	"slices"

	"paddock/fence/geometry"
)

// record appends the record of a cell and returns its offset in words. edges may touch the cell;
// inside of them are within it, as [Map.within] tells. corner lists the parts that hold the
// south-west corner.
func (w *cellBand) record(cell square, edges []uint32, inside int, corner []uint32) uint32 {
	m := &w.b.m
	at := uint32(len(w.words))
	w.locals, w.mine = append(w.locals[:0], corner...), w.mine[:0]
	for _, i := range edges {
		e := &w.b.edges[i]
		if inside < len(edges) && !m.within(e, cell) {
			continue
		}
		lo, size, ok := m.cut(e, cell)
		if !ok {
			continue
		}
		w.mine = append(w.mine, edgeWord{lo, size, m.flags(e, cell.x, cell.y), e})
		for _, part := range e.parts {
			if part == noLocal {
				continue
			}
			if i, found := search(w.locals, part); !found {
				w.locals = slices.Insert(w.locals, i, part)
			}
		}
	}
	if len(w.locals) > maxLocals || len(w.mine) > maxEdges {
		w.wide(corner)
		return at
	}
	head := uint32(len(w.locals)) | uint32(len(w.mine))<<edgesShift
	for _, part := range corner {
		head |= 1 << cornerShift << w.local(part)
	}
	w.words = append(w.words, head)
	w.appendRefs()
	from, size := len(w.words), len(w.mine)*edgeWords
	w.words = slices.Grow(w.words, size)[:from+size]
	to := w.words[from:]
	for _, e := range w.mine {
		sides := e.flags
		for _, part := range e.edge.parts {
			if part != noLocal {
				sides |= 1 << w.local(part)
			}
		}
		to[0], to[1], to[2] = e.lo, e.size, sides
		to = to[edgeWords:]
	}
	w.appendPlaces()
	return at
}

// edgeWord is an edge of the present record.
type edgeWord struct {
	lo, size, flags uint32
	edge            *ringEdge
}

// wide makes a wide record of the present locals and edges.
func (w *cellBand) wide(corner []uint32) {
	w.words = append(w.words, wideRecord, uint32(len(w.locals)), uint32(len(w.mine)))
	mask := len(w.words)
	w.words = append(w.words, make([]uint32, (len(w.locals)+31)/32)...)
	for _, part := range corner {
		wideMask(w.words[mask:]).set(w.local(part))
	}
	w.appendRefs()
	for _, e := range w.mine {
		w.words = append(w.words, e.lo, e.size, e.flags)
		for _, part := range e.edge.parts {
			local := uint32(noLocal)
			if part != noLocal {
				local = w.local(part)
			}
			w.words = append(w.words, local)
		}
	}
	w.appendPlaces()
}

func (w *cellBand) appendRefs() {
	for _, part := range w.locals {
		w.words = append(w.words, uint32(w.b.refs[part]))
	}
}

func (w *cellBand) appendPlaces() {
	for _, e := range w.mine {
		w.words = w.b.m.appendEnds(w.words, e.edge)
	}
}

// local is the number of a part in the present record.
func (w *cellBand) local(part uint32) uint32 {
	i, _ := search(w.locals, part)
	return uint32(i)
}

// cutSlack is more than the error of the latitude at which an edge is cut off: a few rounding
// errors of numbers below 1<<33. The piece that is left is made longer by it at that end. So a
// point whose latitude is beyond the longer piece is beyond that of the edge in the window, too.
const cutSlack = 1.0 / (1 << 14)

// cut returns an edge's words for a record of a cell, or false if no part of it is in the window.
func (m *Map) cut(e *ringEdge, cell square) (lo, size uint32, ok bool) {
	scale := recordScale(cell.shift)
	x, y := (int64(e.x)-cell.x)>>scale, (int64(e.y)-cell.y)>>scale
	x1, y1 := (int64(e.x1)-cell.x)>>scale, (int64(e.y1)-cell.y)>>scale
	if min(x, y, x1, y1) < windowMin || max(x, y, x1, y1) >= windowMax {
		a, b := m.endsIn(e.ring, e.place)
		a, b = cell.inside(a, scale), cell.inside(b, scale)
		t0, t1 := clip(a, b)
		if t0 > t1 {
			return 0, 0, false
		}
		if t0 > 0 {
			c := along(a, b, t0)
			x, y = int64(math.Floor(c.Lon)), int64(math.Floor(c.Lat-cutSlack))
		}
		if t1 < 1 {
			c := along(a, b, t1)
			x1, y1 = int64(math.Floor(c.Lon)), int64(math.Floor(c.Lat+cutSlack))
		}
	}
	return uint32(uint16(x)) | uint32(uint16(y))<<16, uint32(uint16(x1-x)) | uint32(uint16(y1-y))<<16, true
}

// inside gives the place of a point from the cell's corner, in the units of its record.
func (s square) inside(p geometry.Point, scale uint) geometry.Point {
	unit := 1 / float64(int64(1)<<scale) // a power of two
	return geometry.Point{Lon: (p.Lon*perUnit - float64(s.x)) * unit, Lat: (p.Lat*perUnit - float64(s.y)) * unit}
}

// clip gives the piece of an edge that is in the window: from a at 0 to b at 1. If there is
// none the first number is the greater.
func clip(a, b geometry.Point) (t0, t1 float64) {
	t1 = 1
	for _, s := range [...]struct{ at, step float64 }{{a.Lon, b.Lon - a.Lon}, {a.Lat, b.Lat - a.Lat}} {
		if s.step == 0 {
			if s.at < windowMin || s.at > windowMax {
				return 1, 0
			}
			continue
		}
		enter, leave := (windowMin-s.at)/s.step, (windowMax-s.at)/s.step
		t0, t1 = max(t0, min(enter, leave)), min(t1, max(enter, leave))
	}
	return t0, t1
}

// along is a point of a piece that is in the window.
func along(a, b geometry.Point, t float64) geometry.Point {
	return geometry.Point{
		Lon: min(max(a.Lon+float64(t*(b.Lon-a.Lon)), windowMin), windowMax),
		Lat: min(max(a.Lat+float64(t*(b.Lat-a.Lat)), windowMin), windowMax),
	}
}
