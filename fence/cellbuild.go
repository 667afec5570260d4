package fence

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

const (
	// maxRoots bounds the root cells: 1 MiB, which stays in a core's second cache.
	maxRoots = 1 << 18
	// splitEdges is how many edges a cell may have before it is divided.
	splitEdges = 8
	// minShift is where dividing ends: 2^-20 degrees. Edges that meet in a vertex cannot be
	// told apart by any cell.
	minShift = 3
	// wordsPerEdge and wordsPerRoot bound the memory: where very many fences lie upon each
	// other, or thin ones across many cells, the cells become larger.
	wordsPerEdge = 30
	wordsPerRoot = 16
	// longUnits is how many units an edge may span before products of them overflow.
	longUnits = 1 << 30
)

// ringEdge is an edge of a ring while a cellmap is built.
type ringEdge struct {
	x, y   int32 // of lo, in units
	x1, y1 int32 // of hi
	place  uint32
	ring   uint32
	part   uint32
}

// cellBuilder makes a cellmap.
type cellBuilder struct {
	m     cellmap
	edges []ringEdge
	refs  []Ref // by part
	split int   // edges
	limit int   // words of a band
}

// buildCellmap indexes the entries, which ascend by ref.
func buildCellmap(entries []*entry) *cellmap {
	b := &cellBuilder{split: splitEdges}
	b.gather(entries)
	if len(b.edges) == 0 {
		b.m.dir, b.m.words = []uint32{entryList}, []uint32{0}
		return &b.m
	}
	for roots := min(maxRoots, max(64, 2*len(b.edges))); ; roots /= 4 {
		b.layOut(roots)
		if b.limit = wordsPerEdge*len(b.edges) + wordsPerRoot*roots; roots < 4 {
			b.limit = math.MaxInt
		}
		if b.build() {
			return &b.m
		}
		b.split *= 2 // too many cells share what is in them
	}
}

// gather lists the rings, their edges and the parts.
func (b *cellBuilder) gather(entries []*entry) {
	edges, rings, parts := 0, 0, 0
	for _, e := range entries {
		edges += e.edges
		parts += len(e.fence.Geometry)
		for _, part := range e.fence.Geometry {
			rings += len(part)
		}
	}
	b.m.rings, b.m.starts = make([]Ring, 0, rings), make([]uint32, 0, rings)
	b.refs = make([]Ref, 0, parts)
	b.edges = make([]ringEdge, 0, edges)
	next := uint32(0)
	for _, e := range entries {
		for _, part := range e.fence.Geometry {
			b.refs = append(b.refs, e.ref)
			for _, ring := range part {
				if len(ring) == 0 {
					continue // it has no place of its own
				}
				b.m.rings, b.m.starts = append(b.m.rings, ring), append(b.m.starts, next)
				b.ring(ring, next)
				next += uint32(len(ring))
			}
		}
	}
}

// ring adds the edges of a ring whose first vertex has the place given.
func (b *cellBuilder) ring(ring Ring, place uint32) {
	e := ringEdge{ring: uint32(len(b.m.rings) - 1), part: uint32(len(b.refs) - 1)}
	from := ring[len(ring)-1]
	x, y := toUnits(from.Lon), toUnits(from.Lat)
	for i, to := range ring {
		x1, y1 := toUnits(to.Lon), toUnits(to.Lat)
		if from != to {
			e.x, e.y, e.x1, e.y1, e.place = x, y, x1, y1, place+uint32(i)
			if lo, _ := ascending(from, to); lo != from {
				e.x, e.y, e.x1, e.y1 = x1, y1, x, y
			}
			b.edges = append(b.edges, e)
		}
		from, x, y = to, x1, y1
	}
}

// layOut chooses the grid: cells as small as roots allows.
func (b *cellBuilder) layOut(roots int) {
	x0, y0 := int32(math.MaxInt32), int32(math.MaxInt32)
	x1, y1 := int32(math.MinInt32), int32(math.MinInt32)
	for i := range b.edges {
		e := &b.edges[i]
		x0, y0 = min(x0, e.x, e.x1), min(y0, e.y)
		x1, y1 = max(x1, e.x, e.x1), max(y1, e.y1)
	}
	// One unit more all around: nothing lies to the west of the first column.
	x0, y0, x1, y1 = x0-1, y0-1, x1+1, y1+1
	m := &b.m
	for m.shift = minShift; ; m.shift++ {
		m.x0, m.y0 = x0>>m.shift<<m.shift, y0>>m.shift<<m.shift
		m.w, m.h = uint32(x1-m.x0)>>m.shift+1, uint32(y1-m.y0)>>m.shift+1
		if uint64(m.w)*uint64(m.h) <= uint64(roots) || m.shift >= 30 {
			break
		}
	}
}

// build makes the directory and the records, in bands of rows that have nothing to do with
// each other. It gives up, and says false, at the limit.
func (b *cellBuilder) build() bool {
	m := &b.m
	lists := b.spread()
	bands := make([]cellBand, min(uint32(runtime.GOMAXPROCS(0)), m.h))
	m.dir = make([]uint32, m.w*m.h)
	var wg sync.WaitGroup
	for i := range bands {
		from, to := m.h*uint32(i)/uint32(len(bands)), m.h*uint32(i+1)/uint32(len(bands))
		wg.Go(func() { bands[i].run(b, lists, from, to) })
	}
	wg.Wait()
	for i := range bands {
		if bands[i].full() {
			return false
		}
	}
	m.join(bands)
	return true
}

// cellLists are the edges of each root cell: those of cell i are edges[from[i]:from[i+1]].
type cellLists struct {
	from  []uint32
	edges []uint32
}

// spread lists the edges by root cell.
func (b *cellBuilder) spread() cellLists {
	m := &b.m
	type pair struct{ cell, edge uint32 }
	pairs := make([]pair, 0, 2*len(b.edges))
	l := cellLists{from: make([]uint32, m.w*m.h+1)}
	for i := range b.edges {
		e := &b.edges[i]
		for cell := range m.cellsOf(e) {
			pairs = append(pairs, pair{cell, uint32(i)})
			l.from[cell+1]++
		}
	}
	for i := 1; i < len(l.from); i++ {
		l.from[i] += l.from[i-1]
	}
	l.edges = make([]uint32, len(pairs))
	next := slices.Clone(l.from)
	for _, p := range pairs {
		l.edges[next[p.cell]] = p.edge
		next[p.cell]++
	}
	return l
}

// cellsOf yields the root cells whose closed rectangles the edge may touch.
func (m *cellmap) cellsOf(e *ringEdge) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		// An edge in unit u lies in [u, u+1]: it may touch the cell that ends with u+1 and
		// the one that begins there.
		x0, x1 := uint32(min(e.x, e.x1)-1-m.x0)>>m.shift, uint32(max(e.x, e.x1)+1-m.x0)>>m.shift
		y0, y1 := uint32(e.y-1-m.y0)>>m.shift, uint32(e.y1+1-m.y0)>>m.shift
		x1, y1 = min(x1, m.w-1), min(y1, m.h-1)
		for cy := y0; cy <= y1; cy++ {
			west, east := x0, x1
			if east-west > 4 {
				west, east = m.narrow(e, cy, west, east)
			}
			for cx := west; cx <= east; cx++ {
				if m.cell(cx, cy).mayTouch(e) && !yield(cy*m.w+cx) {
					return
				}
			}
		}
	}
}

// narrow bounds the columns in which a long edge is in one row, with room for rounding.
func (m *cellmap) narrow(e *ringEdge, cy, west, east uint32) (uint32, uint32) {
	if e.y1-e.y < 2 {
		return west, east
	}
	south := float64(m.y0) + float64(cy)*float64(int64(1)<<m.shift)
	north := south + float64(int64(1)<<m.shift)
	slope := (float64(e.x1) - float64(e.x)) / float64(e.y1-e.y) // in longitude it may be over 1<<31 units
	at := func(y float64) float64 {
		return float64(e.x) + slope*(min(max(y, float64(e.y)), float64(e.y1))-float64(e.y))
	}
	a, b := at(south-2), at(north+2)
	margin := 4 + 4*math.Abs(slope)
	column := func(x float64) uint32 {
		return uint32(min(max(x-float64(m.x0), 0), math.MaxUint32)) >> m.shift
	}
	return max(west, column(min(a, b)-margin)), min(east, column(max(a, b)+margin))
}

// square is a cell: closed, in units.
type square struct {
	x, y  int64
	shift uint
}

func (m *cellmap) cell(cx, cy uint32) square {
	return square{int64(m.x0) + int64(cx)<<m.shift, int64(m.y0) + int64(cy)<<m.shift, m.shift}
}

// mayTouch is false only if the edge certainly has no point in the closed cell.
func (s square) mayTouch(e *ringEdge) bool {
	side := int64(1) << s.shift
	x0, y0 := s.x, s.y
	if max(int64(e.x), int64(e.x1))+1 < x0 || min(int64(e.x), int64(e.x1)) > x0+side ||
		int64(e.y1)+1 < y0 || int64(e.y) > y0+side {
		return false
	}
	dx, dy := int64(e.x1)-int64(e.x), int64(e.y1)-int64(e.y)
	if dy > longUnits || abs(dx) > longUnits {
		return true
	}
	left, right := 0, 0
	for i := range int64(4) {
		px, py := x0+(i&1)*side-int64(e.x), y0+(i>>1)*side-int64(e.y)
		if abs(px) > longUnits || abs(py) > longUnits {
			return true
		}
		det := dx*py - dy*px
		bound := abs(dx) + dy + abs(px) + abs(py) + 2
		switch {
		case det > bound:
			left++
		case det < -bound:
			right++
		}
	}
	return left < 4 && right < 4
}
