package outline

import (
	"math"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

const (
	// fullCell is how many edges a cell lists. One with more is busy.
	fullCell = 48
	// shortPath is how many cells a path may go through that asks their lists.
	shortPath = 4
	// fewHits is how many edges such a path may cross.
	fewHits = 16
)

// chain is a ring or a line of a fence.
type chain struct {
	ref      geojson.Ref
	vertices []geometry.Point
	closed   bool
}

// edges is the number of edges.
func (c *chain) edges() int {
	if c.closed {
		return len(c.vertices)
	}
	return max(len(c.vertices)-1, 0)
}

func (c *chain) edge(i int) (a, b geometry.Point) {
	next := i + 1
	if next == len(c.vertices) {
		next = 0
	}
	return c.vertices[i], c.vertices[next]
}

// edgeAt is an edge of a chain.
type edgeAt struct{ chain, i uint32 }

// chainsOf appends the chains of a fence that are its boundary, or the line that it is.
func chainsOf(dst []chain, e *index.Entry) []chain {
	for _, part := range e.Fence.Geometry {
		for _, r := range part {
			dst = append(dst, chain{e.Ref, r, true})
		}
	}
	if e.Fence.OnlyCrossed() {
		for _, l := range e.Fence.Lines {
			dst = append(dst, chain{e.Ref, l, false})
		}
	}
	return dst
}

// list appends the chains of a fence, and returns the number of their edges.
func (g *grid) list(e *index.Entry) (edges int) {
	from := len(g.chains)
	g.chains = chainsOf(g.chains, e)
	for i := range g.chains[from:] {
		edges += g.chains[from+i].edges()
	}
	return edges
}

// pieces is the number of pieces in which an edge is put into cells, so that the box of each has
// few cells.
func (g *grid) pieces(a, b geometry.Point) float64 {
	return max(math.Ceil(max(math.Abs(b.Lon-a.Lon)*g.perX, math.Abs(b.Lat-a.Lat)*g.perY)), 1)
}

// work is the number of pieces of all edges.
func (g *grid) work() int {
	n := 0.0
	for i := range g.chains {
		c := &g.chains[i]
		for k := range c.edges() {
			n += g.pieces(c.edge(k))
		}
	}
	return int(n)
}

// edge calls mark for the cells that an edge may go through, some of them repeatedly.
func (g *grid) edge(a, b geometry.Point, mark func(cell int)) {
	dlon, dlat := b.Lon-a.Lon, b.Lat-a.Lat
	n := g.pieces(a, b)
	for k := 0.0; k < n; k++ {
		g.piece(geometry.Point{Lon: a.Lon + k/n*dlon, Lat: a.Lat + k/n*dlat},
			geometry.Point{Lon: a.Lon + (k+1)/n*dlon, Lat: a.Lat + (k+1)/n*dlat}, mark)
	}
}

func (g *grid) piece(a, b geometry.Point, mark func(cell int)) {
	x0, x1 := g.column(min(a.Lon, b.Lon)-edgePad), g.column(max(a.Lon, b.Lon)+edgePad)
	y0, y1 := g.row(min(a.Lat, b.Lat)-edgePad), g.row(max(a.Lat, b.Lat)+edgePad)
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			mark(y*g.w + x)
		}
	}
}

// cells calls mark for the cells that an edge of the fence may go through.
func (g *grid) cells(e *index.Entry, mark func(cell int)) {
	for _, c := range chainsOf(nil, e) {
		for k := range c.edges() {
			a, b := c.edge(k)
			g.edge(a, b, mark)
		}
	}
}

// placed is an edge in one of the cells that it may go through.
type placed struct {
	cell uint32
	edgeAt
}

// place returns all edges, once for each cell that they may go through.
func (g *grid) place(edges int) []placed {
	all := make([]placed, 0, 2*edges)
	for i := range g.chains {
		c := &g.chains[i]
		for k := range c.edges() {
			from := len(all)
			a, b := c.edge(k)
			g.edge(a, b, func(cell int) {
				// Pieces in a row have cells in common.
				for _, p := range all[max(from, len(all)-repeats):] {
					if p.cell == uint32(cell) {
						return
					}
				}
				all = append(all, placed{uint32(cell), edgeAt{uint32(i), uint32(k)}})
			})
		}
	}
	return all
}

// repeats is in how many of the cells before it a cell may be repeated: those of the piece before,
// which has two or three rows and columns.
const repeats = 18

// fill makes the lists, and notes the cells with edges.
func (g *grid) fill(edges int, states []uint8) {
	all := g.place(edges)
	next := make([]uint32, len(states)+1)
	for _, p := range all {
		states[p.cell] = 0
		next[p.cell+1]++
	}
	for i := range states {
		if next[i+1] > fullCell {
			states[i], next[i+1] = busy, 0
		}
		next[i+1] += next[i]
	}
	g.from = slices.Clone(next)
	g.edges = make([]edgeAt, next[len(states)])
	for _, p := range all {
		if states[p.cell] != busy {
			g.edges[next[p.cell]] = p.edgeAt
			next[p.cell]++
		}
	}
}

// appendAlong appends the ref of each edge that a path crosses, in any order; false if the lists do
// not tell. The path is not over the antimeridian.
func (g *grid) appendAlong(dst []geojson.Ref, w *geometry.Path) (found []geojson.Ref, ok bool) {
	around := w.Boxes()[0]
	switch {
	case around.Intersects(g.beyond):
		return dst, false
	case !around.Intersects(g.bounds):
		return dst, true
	}
	x0, x1 := g.column(around.MinLon), g.column(around.MaxLon)
	y0, y1 := g.row(around.MinLat), g.row(around.MaxLat)
	if (x1-x0+1)*(y1-y0+1) > shortPath {
		return dst, g.free(around)
	}
	var hits [fewHits]edgeAt
	n := 0
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			if n = g.crossed(&hits, n, y*g.w+x, w); n < 0 {
				return dst, false
			}
		}
	}
	for _, e := range hits[:n] {
		dst = append(dst, g.chains[e.chain].ref)
	}
	return dst, true
}

// crossed adds the edges of a cell that the path crosses to n others, and returns their number; -1
// if the list does not tell, or there are too many.
func (g *grid) crossed(hits *[fewHits]edgeAt, n, cell int, w *geometry.Path) int {
	if g.states.of(cell)&busy != 0 {
		return -1
	}
	for _, e := range g.edges[g.from[cell]:g.from[cell+1]] {
		if !w.Meets(g.chains[e.chain].edge(int(e.i))) || in(hits[:n], e) {
			continue
		}
		if n == fewHits {
			return -1
		}
		hits[n] = e
		n++
	}
	return n
}

// in reports whether an edge, which may be in several cells, was found before.
func in(hits []edgeAt, e edgeAt) bool {
	for _, h := range hits {
		if h == e {
			return true
		}
	}
	return false
}
