package cellmap

import (
	"math/bits"
	"slices"
	"sync"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
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

// ringOf is a ring while a cellmap is built.
type ringOf struct {
	part     uint32
	place    uint32 // of the first vertex
	number   uint32
	vertices geometry.Ring
}

// gather lists the rings and the parts.
func (b *cellBuilder) gather(entries []*index.Entry) {
	rings, parts := 0, 0
	b.bounds = geometry.EmptyBox()
	for _, e := range entries {
		b.bounds = b.bounds.Union(e.Bounds)
		parts += len(e.Fence.Geometry)
		for _, part := range e.Fence.Geometry {
			rings += len(part)
		}
	}
	b.m.rings, b.m.starts = make([]geometry.Ring, 0, rings), make([]uint32, 0, rings)
	b.refs, b.rings = make([]geojson.Ref, 0, parts), make([]ringOf, 0, rings)
	for _, e := range entries {
		for _, part := range e.Fence.Geometry {
			b.refs = append(b.refs, e.Ref)
			for _, ring := range part {
				if len(ring) == 0 {
					continue // it has no place of its own
				}
				b.m.rings, b.m.starts = append(b.m.rings, ring), append(b.m.starts, b.places)
				b.rings = append(b.rings, ringOf{uint32(len(b.refs) - 1), b.places, uint32(len(b.rings)), ring})
				b.places += uint32(len(ring))
			}
		}
	}
}

// edge is the edge of the ring that ends with the i-th vertex.
func (r *ringOf) edge(i int) ringEdge {
	before := i - 1
	if before < 0 {
		before = len(r.vertices) - 1
	}
	lo, hi := ascending(r.vertices[before], r.vertices[i])
	e := unitsOf(lo, hi)
	e.place, e.ring, e.parts = r.place+uint32(i), r.number, [2]uint32{r.part, noLocal}
	return e
}

// noCell stands for the root cell of an edge that is none.
const noCell = 1<<32 - 1

// arrange lists the edges in the order of the root cells that their lower ends are in: what is
// near each other is so in memory too, and edges on one place are in one cell. Those it makes
// one.
func (b *cellBuilder) arrange() {
	cells := b.rootCells()
	n := b.m.W * b.m.H
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
	b.edges = make([]ringEdge, from[n+1])
	b.short = tallRows << b.m.Shift
	shares := make([]cellShare, b.workers)
	cell := uint32(0)
	for i := range shares {
		end, _ := slices.BinarySearch(from[1:], uint32(len(b.edges)*(i+1)/len(shares)))
		shares[i] = cellShare{cell: cell, end: uint32(end), edge: from[cell+1]}
		cell = uint32(end)
	}
	b.inParallel(func(worker, _ int) {
		s := &shares[worker]
		var done courtesy
		for k := range b.rings {
			r := &b.rings[k]
			for i, c := range cells[r.place:][:len(r.vertices)] {
				if c >= s.cell && c < s.end {
					b.edges[from[c+1]] = r.edge(i)
					from[c+1]++
					done.edges(1)
				}
			}
		}
		ends := from[s.cell+1 : s.end+1]
		b.mergeCells(s.edge, ends)
		s.tall = b.tallOf(s.edge, ends)
	})
	for _, s := range shares {
		b.tall = append(b.tall, s.tall...)
	}
}

// cellShare is a worker's part of the root cells, the first of their edges, and the tall ones.
type cellShare struct {
	cell, end, edge uint32
	tall            []uint32
}

// tallRows is how many root cells tall an edge is that all bands look at. Others are looked at
// by the bands near their lower ends alone.
const tallRows = 8

// isTall says whether an edge is among those.
func (b *cellBuilder) isTall(e *ringEdge) bool { return int64(e.y1)-int64(e.y) > b.short }

// tallOf lists the tall edges from one on, to the last of the ends given.
func (b *cellBuilder) tallOf(edge uint32, ends []uint32) (tall []uint32) {
	var done courtesy
	for len(ends) > 0 && edge < ends[len(ends)-1] {
		done.edges(1)
		if b.isTall(&b.edges[edge]) {
			tall = append(tall, edge)
		}
		edge++
	}
	return tall
}

// rootCells gives the root cell of each edge's lower end, by place. Edges of no length matter
// only where boundaries count.
func (b *cellBuilder) rootCells() []uint32 {
	cells, m := make([]uint32, b.places), &b.m
	b.inParallel(func(worker, workers int) {
		first, end := uint32(len(cells)*worker/workers), uint32(len(cells)*(worker+1)/workers)
		var done courtesy
		for _, r := range b.rings {
			if r.place < first || r.place >= end {
				continue
			}
			before := r.vertices[len(r.vertices)-1]
			for i, v := range r.vertices {
				done.edges(1)
				lo, hi := ascending(before, v)
				before = v
				c := &cells[int(r.place)+i]
				*c = uint32(ToUnits(lo.Lat)-m.y0)>>m.Shift*m.W + uint32(ToUnits(lo.Lon)-m.x0)>>m.Shift
				if lo == hi && m.rule == geometry.HalfOpen {
					*c = noCell
				}
			}
		}
	})
	return cells
}

// mergeProbes bounds how many edges one edge is compared with. Edges that do not meet their equal
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
		if b.m.rule != geometry.HalfOpen {
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
