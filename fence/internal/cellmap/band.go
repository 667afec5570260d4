package cellmap

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// bandCells is a band of rows of root cells. Its nodes and words are numbered from some offset
// on, and moved to their place by join.
type bandCells struct {
	dir, nodes, words []uint32 // dir has the root cells' entries
	node, word        uint32   // the first one's numbers
}

// cellBand builds bands, one after the other. It keeps its memory, and belongs to one goroutine.
type cellBand struct {
	b        *cellBuilder
	from, to uint32 // rows of the present band

	nodes []uint32 // of all bands, as are words
	words []uint32
	lists map[string]uint32 // offsets of lists by what they hold

	told, others int // words that the builder knows of; those of other bands

	corner  []uint32   // parts that hold the corner at which the band is, ascending
	locals  []uint32   // of the present record or list
	mine    []edgeWord // of the present record
	key     []byte
	done    courtesy
	levels  []*level // by depth
	met     []met    // of the present band
	metTold int      // of those, as the builder knows
	roots   rootEdges
}

// level is the memory for one depth of dividing.
type level struct {
	edges   [nodeSize][]uint32 // that may touch each child
	row, at []uint32           // parts
}

// rootEdges are the edges of each root cell of a band: those of cell i are
// edges[from[i]:from[i+1]].
type rootEdges struct {
	from  []uint32
	edges []uint32
}

// usualWords and usualNodes are somewhat more than what an edge takes in streets.
const (
	usualWords = 8
	usualNodes = 1
)

// newCellBand makes one that has room for as many edges in streets.
func newCellBand(b *cellBuilder, edges int) *cellBand {
	return &cellBand{
		b: b, lists: map[string]uint32{},
		words: make([]uint32, 0, usualWords*edges), nodes: make([]uint32, 0, usualNodes*edges),
	}
}

// empty prepares for another attempt.
func (w *cellBand) empty() {
	w.words, w.nodes, w.told, w.others = w.words[:0], w.nodes[:0], 0, 0
}

// run builds a band.
func (w *cellBand) run(from, to uint32) bandCells {
	b, m := w.b, &w.b.m
	w.from, w.to = from, to
	if !w.spread() {
		return bandCells{}
	}
	roots := &w.roots
	band := bandCells{dir: make([]uint32, (to-from)*m.W), node: uint32(len(w.nodes)), word: uint32(len(w.words))}
	w.words = append(w.words, 0) // the empty list first
	clear(w.lists)
	for cy := from; cy < to && !w.full(); cy++ {
		w.tell()
		w.corner = w.corner[:0]
		outside := entryList
		for cx := range m.W {
			if w.full() {
				break
			}
			i := (cy-from)*m.W + cx
			edges := roots.edges[roots.from[i]:roots.from[i+1]]
			w.done.edges(len(edges))
			if len(edges) == 0 {
				band.dir[i] = outside
				continue
			}
			cell := m.cell(cx, cy)
			inside := 0
			for _, e := range edges {
				if m.within(&b.edges[e], cell) {
					inside++
				}
			}
			band.dir[i] = w.entry(cell, edges, inside, w.corner, 0)
			w.corner = w.east(w.corner, edges, cell)
			outside = w.list(w.corner)
		}
	}
	w.tell()
	band.nodes, band.words = w.nodes[band.node:], w.words[band.word:]
	return band
}

// spread lists the edges by root cell. It gives up, and says false, where all bands together
// have more of them than they may.
func (w *cellBand) spread() bool {
	b, l := w.b, &w.roots
	cells := int((w.to - w.from) * b.m.W)
	l.from = append(l.from[:0], make([]uint32, cells+2)...)
	w.met, w.metTold = w.met[:0], 0
	// An edge that is not tall ends so many rows above its lower end at most. One whose lower end
	// is on the border to the next row is in this one too.
	end := b.below(int(w.to) + 1)
	for i := b.below(max(int(w.from)-tallRows-1, 0)); i < end; i++ {
		if !b.isTall(&b.edges[i]) {
			w.meet(uint32(i))
		}
		if len(w.met) > w.metTold+tellEach && !w.tellMet() {
			return false
		}
	}
	for _, i := range b.tall {
		w.meet(i)
		if len(w.met) > w.metTold+tellEach && !w.tellMet() {
			return false
		}
	}
	if !w.tellMet() {
		return false
	}
	for i := 2; i < len(l.from); i++ {
		l.from[i] += l.from[i-1]
	}
	l.edges = slices.Grow(l.edges[:0], len(w.met))[:len(w.met)]
	for _, p := range w.met {
		l.edges[l.from[p.cell+1]] = p.edge
		l.from[p.cell+1]++
	}
	return true
}

// tellEach is how many words, or meetings, a band has before it tells the builder.
const tellEach = 1 << 16

// tellMet adds to the meetings of all bands what has come since the last time, and says
// whether there may be as many.
func (w *cellBand) tellMet() bool {
	news := len(w.met) - w.metTold
	w.metTold = len(w.met)
	return w.b.meetings.Add(int64(news)) <= int64(w.b.mayMeet)
}

// meet lists the root cells of the band that an edge may touch.
func (w *cellBand) meet(i uint32) {
	m, e := &w.b.m, &w.b.edges[i]
	w.done.edges(1)
	if e.dead() {
		return
	}
	s := m.cells(e)
	one := s.one()
	for cy := max(s.y0, w.from); cy <= s.y1 && cy < w.to; cy++ {
		west, east := s.x0, s.x1
		if east-west > 4 {
			west, east = m.narrow(e, cy, west, east)
		}
		for cx := west; cx <= east; cx++ {
			if one || m.cell(cx, cy).mayTouch(e) {
				cell := (cy-w.from)*m.W + cx
				w.met = append(w.met, met{cell, i})
				w.roots.from[cell+2]++
			}
		}
	}
}

// full says whether the bands have reached the limit, of what this one has and others have told.
func (w *cellBand) full() bool {
	have := len(w.words) + len(w.nodes)
	if have > w.told+tellEach {
		w.tell()
	}
	return have+w.others > w.b.limit
}

// tell adds to the words of all bands what has come since the last time.
func (w *cellBand) tell() {
	have := len(w.words) + len(w.nodes)
	w.others = int(w.b.words.Add(int64(have-w.told))) - have
	w.told = have
}

// east returns the parts that hold the south-eastern corner of a cell, given the parts that hold
// the south-western one and the edges that may touch the cell.
func (w *cellBand) east(parts, edges []uint32, cell square) []uint32 {
	x := cell.x + 1<<cell.shift
	for _, i := range edges {
		e := &w.b.edges[i]
		if int64(e.y) <= cell.y && int64(e.y1) >= cell.y {
			parts = w.cross(parts, e, cell, x, cell.y)
		}
	}
	return parts
}

// north gives the parts that hold the north-western corner.
func (w *cellBand) north(parts, edges []uint32, cell square) []uint32 {
	y := cell.y + 1<<cell.shift
	for _, i := range edges {
		e := &w.b.edges[i]
		if int64(min(e.x, e.x1)) <= cell.x && int64(max(e.x, e.x1)) >= cell.x {
			parts = w.cross(parts, e, cell, cell.x, y)
		}
	}
	return parts
}

// cross gives the parts that hold (x, y), a corner of the cell, if the edge is all that the
// path from the south-western corner may cross.
func (w *cellBand) cross(parts []uint32, e *ringEdge, cell square, x, y int64) []uint32 {
	m := &w.b.m
	if !m.crossesAt(e, m.flags(e, cell.x, cell.y), x, y) {
		return parts
	}
	for _, part := range e.parts {
		if part != noLocal {
			parts = toggle(parts, part)
		}
	}
	return parts
}

// toggle takes v out of an ascending list or puts it in.
func toggle(list []uint32, v uint32) []uint32 {
	i, found := search(list, v)
	if found {
		return slices.Delete(list, i, i+1)
	}
	return slices.Insert(list, i, v)
}

// search is slices.BinarySearch, but faster in short lists, as most are.
func search(list []uint32, v uint32) (i int, found bool) {
	const short = 8
	if len(list) > short {
		return slices.BinarySearch(list, v)
	}
	for i < len(list) && list[i] < v {
		i++
	}
	return i, i < len(list) && list[i] == v
}

// entry makes that of a cell, given the edges that may touch it, how many of these are
// within, and the parts that hold its corner. It divides the cell if that leaves fewer edges
// to each part of it; not where so many fences lie upon each other that to name them takes
// longer than to cross the edges.
func (w *cellBand) entry(cell square, edges []uint32, inside int, corner []uint32, depth int) uint32 {
	if inside == 0 {
		return w.list(corner)
	}
	if w.full() { // nothing of this attempt is used
		return entryList
	}
	if inside > max(w.b.split, len(corner)) && cell.shift >= MinShift+nodeBits {
		if entry, ok := w.divide(cell, edges, corner, inside, depth); ok {
			return entry
		}
	}
	return EntryCell | w.record(cell, edges, inside, corner)
}

// divide makes a node, or nothing if one of its cells has as many edges as the whole.
func (w *cellBand) divide(cell square, edges []uint32, corner []uint32, inside, depth int) (entry uint32, ok bool) {
	if len(w.levels) <= depth {
		w.levels = append(w.levels, new(level))
	}
	l := w.levels[depth]
	for k := range l.edges {
		l.edges[k] = l.edges[k][:0]
	}
	var count [nodeSize]int
	w.done.edges(len(edges))
	for _, i := range edges {
		e := &w.b.edges[i]
		for c := cell.children(e); c != 0; c &= c - 1 {
			k := bits.TrailingZeros8(uint8(c)) % nodeSize
			l.edges[k] = append(l.edges[k], i)
			if w.b.m.within(e, cell.child(int64(k%nodeSide), int64(k/nodeSide))) {
				count[k]++
			}
		}
	}
	if slices.Max(count[:]) >= inside {
		return 0, false
	}
	nodes := len(w.nodes)
	w.nodes = append(w.nodes, make([]uint32, nodeSize)...)
	l.row = append(l.row[:0], corner...)
	for k := range nodeSize {
		cx := k % nodeSide
		if cx == 0 {
			l.at = append(l.at[:0], l.row...)
		}
		part := cell.child(int64(cx), int64(k/nodeSide))
		entry := w.entry(part, l.edges[k], count[k], l.at, depth+1)
		w.nodes[nodes+k] = entry
		if cx == 0 {
			l.row = w.north(l.row, l.edges[k], part)
		}
		l.at = w.east(l.at, l.edges[k], part)
	}
	return EntryNode | uint32(nodes), true
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
