package cellmap

import (
	"cmp"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// What an edit may touch and look at for its cells to be made anew at once: some 300 us of work.
// One beyond that goes into the R-tree beside the cells.
const (
	patchCells = 1 << 12 // root cells in its box
	PatchEdges = 1 << 13 // of all fences that are in the cells it touches
	patchWords = 1 << 17 // of these cells, as they become
	PatchLooks = 1 << 16 // looks at a fence or an edge, for one cell each
)

// patchSplit is splitEdges for an edit: cells that are divided less are made in three quarters
// of the time, and what they take of look-ups is lost beside what an edited set does.
const patchSplit = 6

// change is what becomes of the fence of a ref. Either may be nil.
type change struct{ old, successor *index.Entry }

func (c change) ref() geojson.Ref { return cmp.Or(c.old, c.successor).Ref }

func (c change) bounds() geometry.Box {
	b := geometry.EmptyBox()
	for _, e := range [...]*index.Entry{c.old, c.successor} {
		if e != nil {
			b = b.Union(e.Bounds)
		}
	}
	return b
}

// cellPatcher rebuilds the root cells that a change touches: cells that an edge of the old fence or
// of the new one may touch, and cells inside only one of the two. The cells themselves know the
// other fences with edges there.
//
// It keeps its memory from one change to the next, and belongs to one goroutine.
type cellPatcher struct {
	m       *Map         // whose grid it is
	window  span         // the root cells around the change
	around  geometry.Box // the window, and a little more
	numbers []uint32     // of the window's cells, row by row: 0 = the cell stays as it is; else its number in cells, and one
	cells   []rootCell

	outline [2][][]rowEdge // of the old fence and the new one, by row of the window
	rows    [][]rowEdge    // of all fences in the cells afterwards, likewise
	Refs    []geojson.Ref  // of these fences
	hits    []uint32       // cells of the window that the present edge may touch
	corner  []uint32       // parts

	b     cellBuilder
	band  cellBand
	met   []met
	from  []uint32 // the edges of cell i are edges[from[i]:from[i+1]]
	edges []uint32
	table []uint32 // of merging
	Looks int      // of the present change
	maker tileMaker
}

// rootCell is one that is made anew, and what becomes of it.
type rootCell struct{ x, y, entry uint32 }

// met says that an edge may touch a cell.
type met struct{ cell, edge uint32 }

// rowEdge is an edge that crosses the latitude on which the corners of a row's cells are.
type rowEdge struct {
	lo, hi geometry.Point
	part   uint32
}

// patch gives the patch after a change; false if that is beyond the bounds. t has the fences as
// they are then. Those apart are in none of the cells that are made, whatever cells say.
func (p *cellPatcher) patch(c *cellPatch, ch change, t *index.Table, apart []geojson.Ref) (*cellPatch, bool) {
	p.m = c.base
	bounds := ch.bounds()
	if bounds.Empty() { // lines are in no cell
		return c, true
	}
	if !p.frame(bounds) {
		return nil, false
	}
	p.mark(ch)
	p.Looks = 0
	if !p.know(c, ch, apart) || !p.gather(t) || !p.build() {
		return nil, false
	}
	return p.assemble(c), true
}

// frame makes the window; false if it is too large, or not all in the grid.
func (p *cellPatcher) frame(b geometry.Box) bool {
	m := p.m
	west, south := int64(ToUnits(b.MinLon))-1-int64(m.x0), int64(ToUnits(b.MinLat))-1-int64(m.y0)
	east, north := int64(ToUnits(b.MaxLon))+1-int64(m.x0), int64(ToUnits(b.MaxLat))+1-int64(m.y0)
	if west < 0 || south < 0 || east>>m.Shift >= int64(m.W) || north>>m.Shift >= int64(m.H) {
		return false
	}
	p.window = span{uint32(west >> m.Shift), uint32(south >> m.Shift), uint32(east >> m.Shift), uint32(north >> m.Shift)}
	p.around = geometry.Box{
		MinLon: ToDegrees(int64(m.x0) + int64(p.window.x0)<<m.Shift - 1), MinLat: ToDegrees(int64(m.y0) + int64(p.window.y0)<<m.Shift - 1),
		MaxLon: ToDegrees(int64(m.x0) + int64(p.window.x1+1)<<m.Shift + 1), MaxLat: ToDegrees(int64(m.y0) + int64(p.window.y1+1)<<m.Shift + 1),
	}
	columns, rows := p.window.x1-p.window.x0+1, p.window.y1-p.window.y0+1
	if columns*rows > patchCells {
		return false
	}
	p.numbers = append(p.numbers[:0], make([]uint32, columns*rows)...)
	p.outline[0], p.outline[1], p.rows = emptied(p.outline[0], rows), emptied(p.outline[1], rows), emptied(p.rows, rows)
	return true
}

// emptied gives n empty lists, with the memory of those given.
func emptied(lists [][]rowEdge, n uint32) [][]rowEdge {
	for len(lists) < int(n) {
		lists = append(lists, nil)
	}
	for i := range n {
		lists[i] = lists[i][:0]
	}
	return lists
}

// number is that of the root cell at (x, y), as in numbers.
func (p *cellPatcher) number(x, y uint32) *uint32 {
	return &p.numbers[(y-p.window.y0)*(p.window.x1-p.window.x0+1)+x-p.window.x0]
}

// mark finds the cells that are to be made, and numbers them.
func (p *cellPatcher) mark(ch change) {
	const edged = 1
	clear(p.numbers)
	for k, e := range [...]*index.Entry{ch.old, ch.successor} {
		if e == nil {
			continue
		}
		for i, part := range e.Fence.Geometry {
			for lo, hi := range edgesOf(part) {
				e := unitsOf(lo, hi)
				p.list(p.outline[k], rowEdge{lo, hi, uint32(i)}, &e)
				p.hit(&e, false)
				for _, at := range p.hits {
					p.numbers[at] = edged
				}
			}
		}
	}
	p.cells = p.cells[:0]
	for y := p.window.y0; y <= p.window.y1; y++ {
		known, differs := false, false // of the cells without edges up to the next one with edges
		for x := p.window.x0; x <= p.window.x1; x++ {
			n := p.number(x, y)
			if *n == edged {
				known = false
			} else if !known {
				known, differs = true, p.within(p.outline[0], x, y) != p.within(p.outline[1], x, y)
			}
			if *n == edged || differs {
				p.cells = append(p.cells, rootCell{x: x, y: y})
				*n = uint32(len(p.cells))
			}
		}
	}
}

// edgesOf yields the edges of all rings, each with its ends in order.
func edgesOf(pg geometry.Polygon) func(yield func(lo, hi geometry.Point) bool) {
	return func(yield func(lo, hi geometry.Point) bool) {
		for _, r := range pg {
			for i, to := range r {
				if !yield(ascending(r[(i+len(r)-1)%len(r)], to)) {
					return
				}
			}
		}
	}
}

func unitsOf(lo, hi geometry.Point) ringEdge {
	return ringEdge{x: ToUnits(lo.Lon), y: ToUnits(lo.Lat), x1: ToUnits(hi.Lon), y1: ToUnits(hi.Lat)}
}

// list lists an edge in the rows whose corners' latitude it spans.
func (p *cellPatcher) list(rows [][]rowEdge, c rowEdge, e *ringEdge) {
	m := p.m
	side := int64(1) << m.Shift
	first, last := (int64(e.y)-int64(m.y0)+side-1)>>m.Shift, (int64(e.y1)-int64(m.y0))>>m.Shift
	for y := max(first, int64(p.window.y0)); y <= min(last, int64(p.window.y1)); y++ {
		if corner := ToDegrees(int64(m.y0) + y<<m.Shift); c.lo.Lat <= corner && corner < c.hi.Lat {
			row := &rows[y-int64(p.window.y0)]
			*row = append(*row, c)
		}
	}
}

// hold gives the parts that hold the corner of the root cell at (x, y), ascending, of the edges
// of its row.
func (p *cellPatcher) hold(rows [][]rowEdge, x, y uint32) []uint32 {
	m := p.m
	corner := geometry.Point{Lon: ToDegrees(int64(m.x0) + int64(x)<<m.Shift), Lat: ToDegrees(int64(m.y0) + int64(y)<<m.Shift)}
	p.corner = p.corner[:0]
	row := rows[y-p.window.y0]
	for i := range row {
		c := &row[i]
		if max(c.lo.Lon, c.hi.Lon) > corner.Lon && (min(c.lo.Lon, c.hi.Lon) > corner.Lon || geometry.Orient(c.lo, c.hi, corner) > 0) {
			p.corner = toggle(p.corner, c.part)
		}
	}
	return p.corner
}

// within says whether a fence with this outline holds the corner of a root cell.
func (p *cellPatcher) within(outline [][]rowEdge, x, y uint32) bool {
	return len(p.hold(outline, x, y)) > 0
}

// hit lists the cells of the window that an edge may touch; with made, only numbered ones.
func (p *cellPatcher) hit(e *ringEdge, made bool) {
	m, w := p.m, p.window
	p.hits = p.hits[:0]
	s := m.cells(e)
	one := s.one()
	for y := max(s.y0, w.y0); y <= min(s.y1, w.y1); y++ {
		west, east := s.x0, s.x1
		if east-west > 4 {
			west, east = m.narrow(e, y, west, east)
		}
		for x := max(west, w.x0); x <= min(east, w.x1); x++ {
			at := (y-w.y0)*(w.x1-w.x0+1) + x - w.x0
			if (!made || p.numbers[at] != 0) && (one || m.cell(x, y).mayTouch(e)) {
				p.hits = append(p.hits, at)
			}
		}
	}
}

// know lists the fences that are in the cells afterwards; false if that are too many looks.
func (p *cellPatcher) know(c *cellPatch, ch change, apart []geojson.Ref) bool {
	p.Refs = p.Refs[:0]
	for _, cell := range p.cells {
		entry, m := c.entry(cell.x, cell.y)
		p.Refs = m.refsIn(p.Refs, entry)
		if p.Looks += len(p.Refs); p.Looks > PatchLooks {
			return false
		}
	}
	p.Refs = slices.DeleteFunc(p.Refs, func(r geojson.Ref) bool {
		_, gone := slices.BinarySearch(apart, r)
		return gone
	})
	if ch.successor != nil {
		p.Refs = withRef(p.Refs, ch.ref())
	}
	return true
}

// refsIn adds the refs that an entry leads to, to an ascending list.
func (m *Map) refsIn(refs []geojson.Ref, entry uint32) []geojson.Ref {
	at := entry & entryMask
	var found []uint32
	switch {
	case entry >= EntryNode:
		for _, e := range m.Dir[at : at+nodeSize] {
			refs = m.refsIn(refs, e)
		}
		return refs
	case entry >= EntryCell:
		locals := m.Words[at] & recordLocals
		first := at + 1
		if locals == wideRecord {
			locals = m.Words[at+1]
			first = at + wideHead + (locals+31)/32
		}
		found = m.Words[first : first+locals]
	case entry >= entryOne:
		return withRef(refs, geojson.Ref(at))
	default:
		found = m.Words[at+1 : at+1+m.Words[at]]
	}
	for _, r := range found {
		refs = withRef(refs, geojson.Ref(r))
	}
	return refs
}

// withRef adds r to an ascending list if it is not there.
func withRef(refs []geojson.Ref, r geojson.Ref) []geojson.Ref {
	i, found := slices.BinarySearch(refs, r)
	if found {
		return refs
	}
	return slices.Insert(refs, i, r)
}

// gather lists the parts of the fences, and their edges in the cells; false if there are too many.
func (p *cellPatcher) gather(t *index.Table) bool {
	b, m := &p.b, p.m
	b.m = Map{
		rule: m.rule, x0: m.x0, y0: m.y0, Shift: m.Shift, W: m.W, H: m.H, named: true,
		rings: b.m.rings[:0], starts: b.m.starts[:0],
	}
	b.refs, b.edges, p.met = b.refs[:0], b.edges[:0], p.met[:0]
	edges, place := 0, uint32(0)
	for _, r := range p.Refs {
		e := t.Get(r)
		if e == nil {
			continue // a change to come takes it out
		}
		if edges += e.Edges; edges > PatchEdges || p.Looks > PatchLooks {
			return false
		}
		for _, part := range e.Fence.Geometry {
			b.refs = append(b.refs, r)
			for _, ring := range part {
				if len(ring) > 0 {
					p.ring(ring, place)
					place += uint32(len(ring))
				}
			}
		}
	}
	return true
}

// ring lists the edges of a ring of the last part.
func (p *cellPatcher) ring(r geometry.Ring, place uint32) {
	b := &p.b
	part, number := uint32(len(b.refs)-1), uint32(len(b.m.rings))
	b.m.rings, b.m.starts = append(b.m.rings, r), append(b.m.starts, place)
	from := r[len(r)-1]
	for i, to := range r {
		lo, hi := ascending(from, to)
		from = to
		if hi.Lat < p.around.MinLat || lo.Lat > p.around.MaxLat || max(lo.Lon, hi.Lon) < p.around.MinLon {
			continue // it is in no cell, nor to the east of any corner
		}
		e := unitsOf(lo, hi)
		p.list(p.rows, rowEdge{lo, hi, part}, &e)
		if min(lo.Lon, hi.Lon) > p.around.MaxLon || lo == hi && b.m.rule == geometry.HalfOpen {
			continue
		}
		p.hit(&e, true)
		if p.Looks += 1 + len(p.hits); len(p.hits) == 0 {
			continue
		}
		e.place, e.ring, e.parts = place+uint32(i), number, [2]uint32{part, noLocal}
		for _, at := range p.hits {
			p.met = append(p.met, met{p.numbers[at] - 1, uint32(len(b.edges))})
		}
		b.edges = append(b.edges, e)
	}
}

// build makes the cells; false if they take too much.
func (p *cellPatcher) build() bool {
	b, w := &p.b, &p.band
	p.table = append(p.table[:0], make([]uint32, mergeRoom(len(b.edges)))...)
	b.merge(b.edges, p.table)
	p.sort()
	b.split, b.limit = patchSplit, patchWords
	w.b, w.words, w.nodes = b, append(w.words[:0], 0), w.nodes[:0]
	if w.lists == nil {
		w.lists = map[string]uint32{}
	}
	clear(w.lists)
	for i := range p.cells {
		c := &p.cells[i]
		edges := p.edges[p.from[i]:p.from[i+1]]
		cell := b.m.cell(c.x, c.y)
		if p.Looks += len(edges) + len(p.rows[c.y-p.window.y0]); p.Looks > PatchLooks {
			return false
		}
		inside := 0
		for _, e := range edges {
			if b.m.within(&b.edges[e], cell) {
				inside++
			}
		}
		c.entry = w.entry(cell, edges, inside, p.hold(p.rows, c.x, c.y), 0)
		if w.full() {
			return false
		}
	}
	return true
}

// sort lists the edges by cell.
func (p *cellPatcher) sort() {
	p.from = append(p.from[:0], make([]uint32, len(p.cells)+2)...)
	live := p.met[:0]
	for _, x := range p.met {
		if !p.b.edges[x.edge].dead() {
			live = append(live, x)
			p.from[x.cell+2]++
		}
	}
	for i := 2; i < len(p.from); i++ {
		p.from[i] += p.from[i-1]
	}
	p.edges = append(p.edges[:0], make([]uint32, len(live))...)
	for _, x := range live {
		p.edges[p.from[x.cell+1]] = x.edge
		p.from[x.cell+1]++
	}
}

// assemble puts the cells into tiles, beside what stays as it is in these.
func (p *cellPatcher) assemble(c *cellPatch) *cellPatch {
	next := c.copy()
	made := &Map{Dir: p.band.nodes, Words: p.band.words, named: true}
	w := p.window
	for ty := w.y0 >> tileBits; ty <= w.y1>>tileBits; ty++ {
		for tx := w.x0 >> tileBits; tx <= w.x1>>tileBits; tx++ {
			if p.fill(c, made, tx, ty) {
				next.put(c, ty*c.across+tx, p.maker.end(p.m.rule))
			}
		}
	}
	return next
}

// fill makes a tile; false if none of its cells is made anew.
func (p *cellPatcher) fill(c *cellPatch, made *Map, tx, ty uint32) (any bool) {
	w := p.window
	tile := span{tx << tileBits, ty << tileBits, tx<<tileBits + tileSide - 1, ty<<tileBits + tileSide - 1}
	p.maker.begin()
	for y := max(tile.y0, w.y0); y <= min(tile.y1, w.y1); y++ {
		for x := max(tile.x0, w.x0); x <= min(tile.x1, w.x1); x++ {
			if n := *p.number(x, y); n != 0 {
				any = true
				p.maker.take(inTile(x, y), p.cells[n-1].entry, made)
			}
		}
	}
	old := c.tile(ty*c.across + tx)
	if !any || old == nil {
		return any
	}
	for y := tile.y0; y <= tile.y1; y++ {
		for x := tile.x0; x <= tile.x1; x++ {
			in := x >= w.x0 && x <= w.x1 && y >= w.y0 && y <= w.y1
			if !in || *p.number(x, y) == 0 {
				p.maker.take(inTile(x, y), old.Dir[inTile(x, y)], old)
			}
		}
	}
	return true
}
