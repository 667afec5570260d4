package cellmap

import (
	"iter"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

const (
	// maxRoots bounds the root cells: 1 MiB, which stays in a core's second cache.
	maxRoots = 1 << 18
	// splitEdges is how many edges a cell may have before it is divided.
	splitEdges = 4
	// MinShift is where dividing ends: 2^-20 degrees. Edges that meet in a vertex cannot be
	// told apart by any cell.
	MinShift = 3
	// wordsPerEdge and wordsPerRoot bound the memory: where very many fences lie upon each
	// other, or thin ones across many cells, the cells become larger.
	wordsPerEdge = 30
	wordsPerRoot = 16
	// meetingsPerEdge and fewMeetings bound the memory of an attempt: where very many edges run
	// across many root cells, the cells become larger. An edge of a street meets 1 to 2.
	meetingsPerEdge = 4
	fewMeetings     = 2 << 20
)

// courtesyEdges is how many edges a builder processes before it yields its processor to other
// goroutines: some 200 us. Go's scheduler by itself would preempt it after 10 ms.
const courtesyEdges = 1 << 10

// courtesy counts the edges that a builder goes over.
type courtesy int

func (c *courtesy) edges(n int) {
	if *c += courtesy(n); *c >= courtesyEdges {
		*c = 0
		runtime.Gosched()
	}
}

// cellBuilder makes a cellmap.
type cellBuilder struct {
	m      Map
	rings  []ringOf
	places uint32        // the vertices of all rings, which are as many edges
	bounds geometry.Box  // of all
	edges  []ringEdge    // by the root cell of the lower end
	tall   []uint32      // those of edges that are taller than short
	short  int64         // units
	refs   []geojson.Ref // by part

	split    int          // edges
	limit    int          // words of all bands
	words    atomic.Int64 // of all bands, as far as they have told
	mayMeet  int          // edges and root cells that meet, of all bands
	meetings atomic.Int64 // of all bands, as far as they have told

	workers int
	making  []*cellBand // one for each worker
}

// buildCellmap indexes the entries, which ascend by ref, on all processors.
func buildCellmap(entries []*index.Entry, r geometry.Rule) *Map {
	return buildCellmapOn(min(runtime.GOMAXPROCS(0), maxWorkers), entries, r)
}

// buildCellmapOn is buildCellmap by so many workers.
func buildCellmapOn(workers int, entries []*index.Entry, r geometry.Rule) *Map {
	b := &cellBuilder{split: splitEdges, workers: workers}
	b.m.rule = r
	b.gather(entries)
	if b.places == 0 {
		b.m.Dir, b.m.Words = []uint32{entryList}, []uint32{0}
		return b.done()
	}
	roots := 2 * int(b.places)
	if d := depth(entries); d > shallow {
		roots /= d
	}
	roots = min(maxRoots, max(64, roots))
	b.layOut(roots)
	b.arrange()
	b.making = make([]*cellBand, workers)
	for {
		b.limit = wordsPerEdge*len(b.edges) + wordsPerRoot*roots
		b.mayMeet = meetingsPerEdge*len(b.edges) + fewMeetings
		if roots < 4 {
			b.limit, b.mayMeet = math.MaxInt, math.MaxInt
		}
		if b.build() {
			return b.done()
		}
		b.split *= 4 // too many cells share what is in them
		roots /= 4
		b.layOut(roots)
	}
}

// done gives the cellmap by itself: a pointer into the builder would keep all of it.
func (b *cellBuilder) done() *Map {
	m := b.m
	return &m
}

// shallow is up to what depth fences do not count as lying upon each other: where some meet,
// so do as many boxes.
const shallow = 8

// depthSamples is how many fences depth looks at.
const depthSamples = 64

// depth is how many fences lie upon each other where fences are, about: the median number
// of boxes around a vertex, of some.
func depth(entries []*index.Entry) int {
	boxes := make([]geometry.Box, len(entries))
	for i, e := range entries {
		boxes[i] = e.Bounds
	}
	var found []int
	for i := 0; i < len(entries); i += 1 + len(entries)/depthSamples {
		g := entries[i].Fence.Geometry
		if len(g) == 0 || len(g[0]) == 0 || len(g[0][0]) == 0 {
			continue
		}
		n := 0
		for k := range boxes {
			if boxes[k].Contains(g[0][0][0]) {
				n++
			}
		}
		found = append(found, n)
	}
	if len(found) == 0 {
		return 0
	}
	slices.Sort(found)
	return found[len(found)/2]
}

// build makes the directory and the records, in bands of rows that have nothing to do with
// each other. It gives up, and says false, at the limit.
func (b *cellBuilder) build() bool {
	rows := b.bands()
	bands := make([]bandCells, len(rows)-1)
	b.words.Store(0)
	b.meetings.Store(0)
	var begun atomic.Int64
	b.inParallel(func(worker, _ int) {
		w := b.making[worker]
		if w == nil {
			w = newCellBand(b, len(b.edges)/b.workers)
			b.making[worker] = w
		}
		w.empty()
		for i := begun.Add(1) - 1; i < int64(len(bands)); i = begun.Add(1) - 1 {
			bands[i] = w.run(rows[i], rows[i+1])
		}
	})
	if b.words.Load() > int64(b.limit) || b.meetings.Load() > int64(b.mayMeet) {
		return false
	}
	b.m.join(bands)
	return true
}

// bandsEach is how many bands there are for each worker. Bands with many short edges and many
// divided cells take twice as long as others. A worker that is done takes the next band.
const bandsEach = 4

// rootWork is how much work an edge is beside a root cell without any.
const rootWork = 64

// bands cuts the rows into bands which are about as much work. It gives the first row of each,
// and the end.
func (b *cellBuilder) bands() []uint32 {
	m, n := &b.m, 1
	if b.workers > 1 {
		n = bandsEach * b.workers
	}
	before := func(row int) int { return rootWork*b.below(row) + row*int(m.W) }
	total := before(int(m.H))
	rows := []uint32{0}
	for k := 1; k < n; k++ {
		row := uint32(sort.Search(int(m.H), func(row int) bool { return before(row)*n >= total*k }))
		if row > rows[len(rows)-1] && row < m.H {
			rows = append(rows, row)
		}
	}
	return append(rows, m.H)
}

// below is how many edges have their lower end in a row before the one given: the first ones.
func (b *cellBuilder) below(row int) int {
	south := int64(b.m.y0) + int64(row)<<b.m.Shift
	return sort.Search(len(b.edges), func(i int) bool { return int64(b.edges[i].y) >= south })
}

// join puts the bands together, with their offsets moved to where things are then.
func (m *Map) join(bands []bandCells) {
	nodes, words := int(m.W*m.H), 0
	for i := range bands {
		nodes += len(bands[i].nodes)
		words += len(bands[i].words)
	}
	m.Dir, m.Words = make([]uint32, nodes), make([]uint32, words)
	var wg sync.WaitGroup
	roots, node, word := uint32(0), m.W*m.H, uint32(0)
	for i := range bands {
		b := &bands[i]
		r, n, w := roots, node, word
		wg.Go(func() {
			for at, piece := range pieces(b.words) {
				copy(m.Words[w+at:], piece)
			}
			for at, piece := range pieces(b.dir) {
				move(m.Dir[r+at:], piece, n-b.node, w-b.word)
			}
			for at, piece := range pieces(b.nodes) {
				move(m.Dir[n+at:], piece, n-b.node, w-b.word)
			}
		})
		roots, node, word = roots+uint32(len(b.dir)), node+uint32(len(b.nodes)), word+uint32(len(b.words))
	}
	wg.Wait()
}

// pieces yields words in pieces, with where they begin, and is courteous in between.
func pieces(words []uint32) iter.Seq2[uint32, []uint32] {
	const size = 1 << 14
	return func(yield func(uint32, []uint32) bool) {
		at := uint32(0)
		for piece := range slices.Chunk(words, size) {
			if !yield(at, piece) {
				return
			}
			at += size
			runtime.Gosched()
		}
	}
}

// move copies entries whose nodes and words go so much further.
func move(to, entries []uint32, node, word uint32) {
	for i, e := range entries {
		switch {
		case e >= EntryNode:
			e += node
		case e >= EntryCell, e > entryList && e < entryOne:
			e += word
		}
		to[i] = e // else it is a ref, or the empty list
	}
}
