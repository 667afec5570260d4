package fence

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// cellBand builds some rows of root cells. What it makes is numbered from 0, and moved to
// its place by join.
type cellBand struct {
	b        *cellBuilder
	from, to uint32 // rows

	dir   []uint32 // the root cells' entries
	nodes []uint32
	words []uint32
	lists map[string]uint32 // offsets of lists by what they hold

	edges  []cellEdge // of the present root cell, ascending by the latitude of lo
	corner []uint32   // parts that hold the corner at which the band is, ascending
	locals []uint32   // of the present record or list
	key    []byte
	whole  []uint32 // numbers of all of edges
	levels []level  // by depth
}

// level is the memory for one depth of dividing.
type level struct{ mine, row, at []uint32 }

// cellEdge is an edge in a cell, with the parts on whose border it is. An edge of more than
// two parts is there several times.
type cellEdge struct {
	ringEdge
	lo, hi Point
	parts  [2]uint32 // noLocal: none
}

func (w *cellBand) run(b *cellBuilder, lists cellLists, from, to uint32) {
	m := &b.m
	w.b, w.from, w.to = b, from, to
	w.dir = make([]uint32, 0, (to-from)*m.w)
	w.words = append(w.words, 0) // the empty list
	w.lists = map[string]uint32{}
	for cy := from; cy < to && !w.full(); cy++ {
		w.corner = w.corner[:0]
		for cx := range m.w {
			i := cy*m.w + cx
			cell := m.cell(cx, cy)
			edges := w.load(lists.edges[lists.from[i]:lists.from[i+1]])
			w.dir = append(w.dir, w.entry(cell, edges, w.within(cell, edges), w.corner, 0))
			w.corner = w.walk(w.corner, edges, cell.corner(0, 0), cell.corner(1, 0))
		}
	}
}

// load makes the ring edges given the edges of the present root cell, those on one place
// together, and lists them.
func (w *cellBand) load(ring []uint32) (list []uint32) {
	w.edges = w.edges[:0]
	m := &w.b.m
	for _, i := range ring {
		e := cellEdge{ringEdge: w.b.edges[i]}
		e.lo, e.hi = m.ends(e.ring, e.place)
		e.parts = [2]uint32{e.part, noLocal}
		w.edges = append(w.edges, e)
	}
	slices.SortFunc(w.edges, compareEdges)
	kept := w.edges[:0]
	for i := range w.edges {
		kept = merge(kept, w.edges[i])
	}
	w.edges = slices.DeleteFunc(kept, func(e cellEdge) bool { return e.parts[0] == noLocal })
	w.whole = w.whole[:0]
	for i := range w.edges {
		w.whole = append(w.whole, uint32(i))
	}
	return w.whole
}

// compareEdges orders by the latitude of lo first, and puts edges on one place together.
func compareEdges(a, b cellEdge) int {
	if c := cmp.Compare(a.lo.Lat, b.lo.Lat); c != 0 {
		return c
	}
	if c := cmp.Compare(a.lo.Lon, b.lo.Lon); c != 0 {
		return c
	}
	return a.hi.compare(b.hi)
}

// merge adds an edge to those that are not after it.
func merge(list []cellEdge, e cellEdge) []cellEdge {
	for i := len(list) - 1; i >= 0 && list[i].lo == e.lo && list[i].hi == e.hi; i-- {
		switch parts := &list[i].parts; {
		case parts[0] == e.part: // there and back again: it cancels
			parts[0], parts[1] = parts[1], noLocal
			return list
		case parts[1] == e.part:
			parts[1] = noLocal
			return list
		case parts[0] == noLocal:
			parts[0] = e.part
			return list
		case parts[1] == noLocal:
			parts[1] = e.part
			return list
		}
	}
	return append(list, e)
}

// full says whether the band has reached the limit.
func (w *cellBand) full() bool { return len(w.words)+len(w.nodes) > w.b.limit }

// corner is that of the cell, dx and dy cells to the east and north.
func (s square) corner(dx, dy int64) Point {
	return Point{toDegrees(s.x + dx<<s.shift), toDegrees(s.y + dy<<s.shift)}
}

// walk follows the path from r, which is in the parts given, to p, which must be in the
// closed cell whose edges these are.
func (w *cellBand) walk(parts, edges []uint32, r, p Point) []uint32 {
	for _, i := range edges {
		e := &w.edges[i]
		if max(e.lo.Lon, e.hi.Lon) <= r.Lon || !crosses(e.lo, e.hi, e.flags(r), p) {
			continue
		}
		for _, part := range e.parts {
			if part != noLocal {
				parts = toggle(parts, part)
			}
		}
	}
	return parts
}

// toggle takes v out of an ascending list or puts it in.
func toggle(list []uint32, v uint32) []uint32 {
	if i, found := slices.BinarySearch(list, v); found {
		return slices.Delete(list, i, i+1)
	} else {
		return slices.Insert(list, i, v)
	}
}

// flags are those of the edge, which is not wholly to the west of r, in a record of a cell
// whose corner is r.
func (e *cellEdge) flags(r Point) (flags uint32) {
	if min(e.lo.Lon, e.hi.Lon) > r.Lon {
		return flagLeft
	}
	level := e.lo.Lat == e.hi.Lat
	side := orient(e.lo, e.hi, r)
	left := side > 0 || side == 0 && level
	if left {
		flags |= flagLeft
	}
	// North of the edge is to its left if it leads eastward.
	if left != (level || e.hi.Lon > e.lo.Lon) {
		flags |= flagNorth
	}
	return flags
}

// entry makes that of a cell, given the edges that may touch it, how many of these are
// within, and the parts that hold its corner. It divides the cell if that leaves fewer edges to each part of it.
func (w *cellBand) entry(cell square, edges []uint32, inside int, corner []uint32, depth int) uint32 {
	if inside == 0 {
		return w.list(corner)
	}
	if inside > w.b.split && cell.shift >= minShift+nodeBits && !w.full() {
		if entry, ok := w.divide(cell, edges, corner, inside, depth); ok {
			return entry
		}
	}
	return entryCell | w.record(cell, edges, corner)
}

// within counts the edges that belong into the cell's record.
func (w *cellBand) within(cell square, edges []uint32) (n int) {
	r, end := cell.corner(0, 0), cell.corner(1, 1)
	for _, i := range edges {
		if w.edges[i].within(r, end) {
			n++
		}
	}
	return n
}

// within says whether the path from r to some point of the half-open cell may cross the
// edge.
func (e *cellEdge) within(r, end Point) bool {
	return max(e.lo.Lon, e.hi.Lon) > r.Lon && min(e.lo.Lon, e.hi.Lon) < end.Lon &&
		e.hi.Lat > r.Lat && e.lo.Lat < end.Lat
}

// divide makes a node, or nothing if one of its cells has as many edges as the whole.
func (w *cellBand) divide(cell square, edges, corner []uint32, inside, depth int) (entry uint32, ok bool) {
	words, nodes := len(w.words), len(w.nodes)
	w.nodes = append(w.nodes, make([]uint32, nodeSize)...)
	shift := cell.shift - nodeBits
	for len(w.levels) <= depth {
		w.levels = append(w.levels, level{})
	}
	l := w.levels[depth]
	defer func() { w.levels[depth] = l }()
	l.row = append(l.row[:0], corner...)
	for cy := range int64(nodeSide) {
		l.at = append(l.at[:0], l.row...)
		for cx := range int64(nodeSide) {
			part := square{cell.x + cx<<shift, cell.y + cy<<shift, shift}
			l.mine = l.mine[:0]
			for _, i := range edges {
				if part.mayTouch(&w.edges[i].ringEdge) {
					l.mine = append(l.mine, i)
				}
			}
			within := w.within(part, l.mine)
			if within >= inside {
				w.words, w.nodes = w.words[:words], w.nodes[:nodes]
				w.forget(uint32(words))
				return 0, false
			}
			e := w.entry(part, l.mine, within, l.at, depth+1)
			w.nodes[nodes+int(cy<<nodeBits+cx)] = e
			if cx == 0 && cy+1 < nodeSide {
				l.row = w.walk(l.row, l.mine, part.corner(0, 0), part.corner(0, 1))
			}
			l.at = w.walk(l.at, l.mine, part.corner(0, 0), part.corner(1, 0))
		}
	}
	return entryNode | uint32(nodes), true
}

// forget takes back the lists from an offset on.
func (w *cellBand) forget(from uint32) {
	for key, at := range w.lists {
		if at >= from {
			delete(w.lists, key)
		}
	}
}

// list makes the entry of a cell without edges, all of which is in the parts given.
func (w *cellBand) list(parts []uint32) uint32 {
	w.locals = w.locals[:0]
	for _, part := range parts {
		r := uint32(w.b.refs[part])
		if n := len(w.locals); n == 0 || w.locals[n-1] != r {
			w.locals = append(w.locals, r)
		}
	}
	switch {
	case len(w.locals) == 0:
		return entryList
	case len(w.locals) == 1 && w.locals[0] <= entryMask:
		return entryOne | w.locals[0]
	}
	w.key = w.key[:0]
	for _, r := range w.locals {
		w.key = binary.LittleEndian.AppendUint32(w.key, r)
	}
	at, known := w.lists[string(w.key)]
	if !known {
		at = uint32(len(w.words))
		w.words = append(append(w.words, uint32(len(w.locals))), w.locals...)
		w.lists[string(w.key)] = at
	}
	return entryList | at
}

// record makes one, and gives its offset.
func (w *cellBand) record(cell square, edges, corner []uint32) uint32 {
	r, end := cell.corner(0, 0), cell.corner(1, 1)
	at := uint32(len(w.words))
	w.locals = append(w.locals[:0], corner...)
	n := 0
	for _, i := range edges {
		if e := &w.edges[i]; e.within(r, end) {
			n++
			for _, part := range e.parts {
				if part != noLocal {
					w.locals = append(w.locals, part)
				}
			}
		}
	}
	slices.Sort(w.locals)
	w.locals = slices.Compact(w.locals)
	if len(w.locals) > maxLocals || n > maxEdges {
		w.bigRecord(r, end, edges, corner, n)
		return at
	}
	var mask uint64
	for _, part := range corner {
		mask |= 1 << w.local(part, noFlip)
	}
	w.words = append(w.words, uint32(len(w.locals))|uint32(n)<<recordShift, uint32(mask), uint32(mask>>32))
	for _, part := range w.locals {
		w.words = append(w.words, uint32(w.b.refs[part]))
	}
	for _, i := range edges {
		e := &w.edges[i]
		if e.within(r, end) {
			flags := e.flags(r) | w.local(e.parts[0], noFlip) | w.local(e.parts[1], noFlip)<<flipBits
			dx, dy := int64(e.x1)-int64(e.x), int64(e.y1)-int64(e.y)
			third := uint32(dx)<<16 | uint32(dy)
			if abs(dx) > shortEdge || dy > shortEdge {
				flags, third = flags|flagLong, e.ring
			}
			w.words = append(w.words, uint32(e.x), uint32(e.y), third, e.place, flags)
		}
	}
	return at
}

func (w *cellBand) bigRecord(r, end Point, edges, corner []uint32, n int) {
	w.words = append(w.words, bigRecord, uint32(len(w.locals)), uint32(n))
	mask := len(w.words)
	w.words = append(w.words, make([]uint32, (len(w.locals)+31)/32)...)
	for _, part := range corner {
		i := w.local(part, noLocal)
		w.words[mask+int(i/32)] |= 1 << (i % 32)
	}
	for _, part := range w.locals {
		w.words = append(w.words, uint32(w.b.refs[part]))
	}
	for _, i := range edges {
		if e := &w.edges[i]; e.within(r, end) {
			w.words = append(w.words, e.place, e.ring, w.local(e.parts[0], noLocal), w.local(e.parts[1], noLocal), e.flags(r))
		}
	}
}

// local is the number of a part in the present record; none for no part.
func (w *cellBand) local(part, none uint32) uint32 {
	if part == noLocal {
		return none
	}
	i, _ := slices.BinarySearch(w.locals, part)
	return uint32(i)
}

// join puts the bands together, with their offsets moved to where things are then.
func (m *cellmap) join(bands []cellBand) {
	nodes, words := len(m.dir), 0
	for i := range bands {
		nodes += len(bands[i].nodes)
		words += len(bands[i].words)
	}
	m.dir = slices.Grow(m.dir[:0], nodes)
	m.words = make([]uint32, 0, words)
	next := m.w * m.h
	var at []uint32
	for i := range bands {
		at = append(at, next)
		next += uint32(len(bands[i].nodes))
	}
	moved := func(e, node, word uint32) uint32 {
		switch {
		case e >= entryNode:
			return e + node
		case e >= entryCell, e > entryList && e < entryOne:
			return e + word
		}
		return e // a ref, or the empty list
	}
	from := make([]uint32, len(bands))
	for i := range bands {
		from[i] = uint32(len(m.words))
		m.words = append(m.words, bands[i].words...)
	}
	move := func(i int, entries []uint32) {
		for _, e := range entries {
			m.dir = append(m.dir, moved(e, at[i], from[i]))
		}
	}
	for i := range bands {
		move(i, bands[i].dir)
	}
	for i := range bands {
		move(i, bands[i].nodes)
	}
}
