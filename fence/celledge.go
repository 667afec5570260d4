package fence

import (
	"math/bits"
	"slices"
	"sync"
)

// ringEdge is an edge of a ring while a cellmap is built. One that parts share, bit for bit,
// is there once if they are two; of more it is there several times.
type ringEdge struct {
	x, y   int32 // of lo, in units, rounded down
	x1, y1 int32 // of hi
	place  uint32
	ring   uint32
	parts  [2]uint32 // noLocal: none
}

// dead says whether the edge changes nothing: it has become one with another.
func (e *ringEdge) dead() bool { return e.parts == [2]uint32{noLocal, noLocal} }

// ringOf is a ring while its edges are listed.
type ringOf struct {
	part     uint32
	place    uint32 // of the first vertex
	number   uint32
	vertices Ring
}

// gather lists the rings, the parts, and the edges by the place with which they end.
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
	b.edges = make([]ringEdge, edges)
	list := make([]ringOf, 0, rings)
	next := uint32(0)
	for _, e := range entries {
		for _, part := range e.fence.Geometry {
			b.refs = append(b.refs, e.ref)
			for _, ring := range part {
				if len(ring) == 0 {
					continue // it has no place of its own
				}
				b.m.rings, b.m.starts = append(b.m.rings, ring), append(b.m.starts, next)
				list = append(list, ringOf{uint32(len(b.refs) - 1), next, uint32(len(list)), ring})
				next += uint32(len(ring))
			}
		}
	}
	b.inParallel(func(worker, workers int) {
		from, to := uint32(uint64(next)*uint64(worker)/uint64(workers)), uint32(uint64(next)*uint64(worker+1)/uint64(workers))
		for _, r := range list {
			if r.place >= from && r.place < to {
				b.list(r)
			}
		}
	})
}

// list lists the edges of a ring. Those of no length matter only where boundaries count.
func (b *cellBuilder) list(r ringOf) {
	from := r.vertices[len(r.vertices)-1]
	x, y := toUnits(from.Lon), toUnits(from.Lat)
	var done courtesy
	for i, to := range r.vertices {
		done.edges(1)
		x1, y1 := toUnits(to.Lon), toUnits(to.Lat)
		e := &b.edges[int(r.place)+i]
		*e = ringEdge{x, y, x1, y1, r.place + uint32(i), r.number, [2]uint32{r.part, noLocal}}
		if lo, _ := ascending(from, to); lo != from {
			e.x, e.y, e.x1, e.y1 = x1, y1, x, y
		}
		if from == to && b.m.rule == halfOpen {
			e.parts[0] = noLocal
		}
		from, x, y = to, x1, y1
	}
}

// noCell stands for the root cell of an edge that is none.
const noCell = 1<<32 - 1

// arrange puts the edges into the order of the root cells that their lower ends are in: what is
// near each other is so in memory too, and edges on one place are in one cell. Those it makes
// one. Edges that are none it leaves out.
func (b *cellBuilder) arrange() {
	cells := b.rootCells()
	n := b.m.w * b.m.h
	// The edges of cell i are counted in from[i+2]. Added up, from[i+1] is where they begin. It
	// moves on with each that is put there, and in the end it is where those of the next begin.
	from := make([]uint32, n+2)
	for _, c := range cells {
		if c != noCell {
			from[c+2]++
		}
	}
	for i := range n {
		from[i+2] += from[i+1]
	}
	listed := b.edges
	b.edges = make([]ringEdge, from[n+1])
	shares := make([]cellShare, b.workers)
	cell := uint32(0)
	for i := range shares {
		end, _ := slices.BinarySearch(from[1:], uint32(len(b.edges)*(i+1)/len(shares)))
		shares[i] = cellShare{cell, uint32(end), from[cell+1]}
		cell = uint32(end)
	}
	b.inParallel(func(worker, _ int) {
		s := shares[worker]
		courteously(len(cells), func(i, to int) {
			for ; i < to; i++ {
				if c := cells[i]; c >= s.cell && c < s.end {
					b.edges[from[c+1]] = listed[i]
					from[c+1]++
				}
			}
		})
		b.mergeCells(s.edge, from[s.cell+1:s.end+1])
	})
}

// cellShare is a worker's part of the root cells, and the first of their edges.
type cellShare struct{ cell, end, edge uint32 }

// rootCells gives the root cell of each edge's lower end.
func (b *cellBuilder) rootCells() []uint32 {
	cells, m := make([]uint32, len(b.edges)), &b.m
	b.inParallel(func(worker, workers int) {
		first, end := len(cells)*worker/workers, len(cells)*(worker+1)/workers
		courteously(end-first, func(i, to int) {
			for k := first + i; k < first+to; k++ {
				e := &b.edges[k]
				cells[k] = uint32(e.y-m.y0)>>m.shift*m.w + uint32(e.x-m.x0)>>m.shift
				if e.dead() {
					cells[k] = noCell
				}
			}
		})
	})
	return cells
}

// mergeProbes bounds how many edges one is compared with. Those that do not meet their like
// stay apart, and are crossed one after the other.
const mergeProbes = 16

// mergeCells makes edges on one place one in each of the cells whose edges follow one another: the
// first one's begin at an edge, and each one's end is given.
func (b *cellBuilder) mergeCells(edge uint32, ends []uint32) {
	var done courtesy
	var table []uint32
	for _, end := range ends {
		edges := b.edges[edge:end]
		edge = end
		done.edges(len(edges))
		if len(edges) > mergeProbes {
			table = append(table[:0], make([]uint32, mergeRoom(len(edges)))...)
			b.merge(edges, table)
			continue
		}
		for i := range edges {
			for k := 0; k < i && !b.absorb(&edges[k], &edges[i]); k++ {
			}
		}
	}
}

// mergeRoom is how long a table is that merge needs for some edges.
func mergeRoom(edges int) int { return 1 << bits.Len(uint(2*edges)) }

// merge makes edges on one place one. The table is empty, and mergeRoom long.
func (b *cellBuilder) merge(edges []ringEdge, table []uint32) {
	last := uint32(len(table) - 1)
	var done courtesy
	for i := range edges {
		done.edges(1)
		e := &edges[i]
		if e.dead() {
			continue
		}
		at := uint32(e.hash()) & last
		for range mergeProbes {
			if table[at] == 0 {
				table[at] = uint32(i) + 1 // the number of an edge, and one
				break
			}
			if b.absorb(&edges[table[at]-1], e) {
				break
			}
			at = (at + 1) & last
		}
	}
}

func (e *ringEdge) hash() uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := (uint64(uint32(e.x)) | uint64(uint32(e.y))<<32) * odd
	h ^= h >> 29
	h = (h ^ (uint64(uint32(e.x1)) | uint64(uint32(e.y1))<<32)) * odd
	return h ^ h>>31
}

// absorb makes e part of other if they are on one place and that has room. An edge that a part
// goes there and back again is none, but for boundaries, which it is on.
func (b *cellBuilder) absorb(other, e *ringEdge) bool {
	if other.x != e.x || other.y != e.y || other.x1 != e.x1 || other.y1 != e.y1 {
		return false
	}
	lo, hi := b.m.endsIn(e.ring, e.place)
	if l, h := b.m.endsIn(other.ring, other.place); l != lo || h != hi {
		return false
	}
	part, of := e.parts[0], &other.parts
	switch {
	case of[0] == part || of[1] == part:
		if b.m.rule != halfOpen {
			return false
		}
		if of[0] == part {
			of[0] = of[1]
		}
		of[1] = noLocal
	case of[0] == noLocal:
		of[0] = part
	case of[1] == noLocal:
		of[1] = part
	default:
		return false
	}
	e.parts[0] = noLocal
	return true
}

// inParallel calls f once for each worker, and waits.
func (b *cellBuilder) inParallel(f func(worker, workers int)) {
	var wg sync.WaitGroup
	for w := range b.workers {
		wg.Go(func() { f(w, b.workers) })
	}
	wg.Wait()
}

// maxWorkers bounds the goroutines that build a cellmap: each goes over all edges to find its
// own.
const maxWorkers = 16
