package outline

import (
	"math"
	"slices"

	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

const (
	// mostCells bounds a grid, and cellsPerEdge one of few edges.
	mostCells    = 1 << 18
	cellsPerEdge = 8
	leastCells   = 1 << 10
	// workPerEdge and leastWork bound the pieces of edges in cells: where many long edges go
	// through many cells, these become larger.
	workPerEdge = 8
	leastWork   = 1 << 20

	// slack in metres is more than the boundary of a corridor, as it is measured, may be off the
	// edges of its area: 0.25 m for an arc, and a hundred-thousandth of the greatest buffer.
	slack = 0.4
	// edgePad in degrees is added around an edge where its cells are marked, so that no rounding
	// puts a place of it into a cell that is not.
	edgePad = 1e-9
	// farLon bounds the differences of longitude that are taken for distances.
	farLon = 5
	// MostClearance is that of a set without fences.
	MostClearance = 1e7
)

// grid has for each cell of a rectangle how far away the next cell is that an edge goes through: 0
// if one goes through the cell itself, 1 if one goes through a neighbour, and so on. Cells with few
// edges list them.
type grid struct {
	bounds       geometry.Box // of the cells; Empty if there are none
	stepX, stepY float64      // degrees
	perX, perY   float64      // cells in a degree
	w, h         int
	states       states
	perLon       []float64 // by row: metres for each degree of longitude, or less

	chains []chain
	from   []uint32 // the edges of cell i are edges[from[i]:from[i+1]]
	edges  []edgeAt

	beyond  geometry.Box // around the fences that were added outside of the bounds
	changes int          // fences that were added or removed since the grid was made
}

func newGrid(t *index.Table) *grid {
	g := &grid{bounds: geometry.EmptyBox(), beyond: geometry.EmptyBox()}
	edges := 0
	for e := range t.All() {
		g.bounds = g.bounds.Union(e.Extent)
		edges += g.list(e)
	}
	if g.bounds.Empty() {
		return g
	}
	const margin = 1e-6
	b := &g.bounds
	b.MinLon, b.MinLat, b.MaxLon, b.MaxLat = b.MinLon-margin, b.MinLat-margin, b.MaxLon+margin, b.MaxLat+margin
	cells := min(mostCells, max(leastCells, cellsPerEdge*edges))
	for g.divide(cells); g.work() > workPerEdge*edges+leastWork && cells > 1; g.divide(cells) {
		cells /= 4
	}
	all := slices.Repeat([]uint8{farthest}, g.w*g.h)
	g.fill(edges, all)
	g.spread(all)
	g.states = newStates(all)
	g.measure()
	return g
}

// divide makes about so many cells that are about as wide as high.
func (g *grid) divide(cells int) {
	b := g.bounds
	width, height := b.MaxLon-b.MinLon, b.MaxLat-b.MinLat
	narrow := max(math.Cos((b.MinLat+b.MaxLat)/2*math.Pi/180), 0.01)
	g.w = int(min(max(math.Sqrt(float64(cells)*width*narrow/height), 1), float64(cells)))
	g.h = max(cells/g.w, 1)
	g.stepX, g.stepY = width/float64(g.w), height/float64(g.h)
	g.perX, g.perY = 1/g.stepX, 1/g.stepY
}

// measure measures the rows.
func (g *grid) measure() {
	g.perLon = make([]float64, g.h)
	for y := range g.perLon {
		south, north := g.bounds.MinLat+float64(y)*g.stepY, g.bounds.MinLat+float64(y+1)*g.stepY
		g.perLon[y] = 0.998 * min(geometry.LonDegree(south), geometry.LonDegree(north))
	}
}

// column and row are those of a coordinate, or of the nearest one in the grid.
func (g *grid) column(lon float64) int { return clamped((lon-g.bounds.MinLon)*g.perX, g.w) }
func (g *grid) row(lat float64) int    { return clamped((lat-g.bounds.MinLat)*g.perY, g.h) }

func clamped(at float64, n int) int { return int(min(max(at, 0), float64(n-1))) }

// spread fills the cells without edges, from the south-west and back.
func (g *grid) spread(all []uint8) {
	for i := range all {
		x, y := i%g.w, i/g.w
		lower(all, i, x > 0, -1)
		lower(all, i, y > 0, -g.w)
		lower(all, i, y > 0 && x > 0, -g.w-1)
		lower(all, i, y > 0 && x < g.w-1, -g.w+1)
	}
	for i := len(all) - 1; i >= 0; i-- {
		x, y := i%g.w, i/g.w
		lower(all, i, x < g.w-1, 1)
		lower(all, i, y < g.h-1, g.w)
		lower(all, i, y < g.h-1 && x < g.w-1, g.w+1)
		lower(all, i, y < g.h-1 && x > 0, g.w-1)
	}
}

// lower makes a cell no further away than a neighbour, if that is there, and one.
func lower(all []uint8, i int, there bool, by int) {
	if there && all[i+by]&farthest < all[i]&farthest {
		all[i] = min(all[i], all[i+by]&farthest+1) // a busy one has an edge already
	}
}

// follow returns a grid after a change. Removed fences stay in it, which only makes distances less,
// until there are so many changes that the grid is made again. The cells of both are busy.
func (g *grid) follow(now *index.Table, removed, added []*index.Entry) *grid {
	next := *g
	if next.changes += max(len(removed), len(added)); next.changes > max(256, now.Fences/2) || g.bounds.Empty() {
		return newGrid(now)
	}
	next.states = g.states.edited()
	var queue []int
	for _, e := range removed {
		if g.bounds.Union(e.Extent) == g.bounds {
			next.cells(e, func(cell int) { next.states.set(cell, next.states.of(cell)|busy) })
		}
	}
	for _, e := range added {
		if g.bounds.Union(e.Extent) != g.bounds {
			next.beyond = next.beyond.Union(e.Extent)
			continue
		}
		next.cells(e, func(cell int) {
			if next.states.away(cell) > 0 {
				queue = append(queue, cell)
			}
			next.states.set(cell, busy)
		})
	}
	next.settle(queue)
	return &next
}

// settle lowers the cells around those in the queue, which have been lowered.
func (g *grid) settle(queue []int) {
	for ; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		x, y, away := i%g.w, i/g.w, g.states.away(i)
		for ny := max(y-1, 0); ny <= min(y+1, g.h-1); ny++ {
			for nx := max(x-1, 0); nx <= min(x+1, g.w-1); nx++ {
				if n := ny*g.w + nx; g.states.away(n) > away+1 {
					g.states.set(n, g.states.of(n)&busy|(away+1))
					queue = append(queue, n)
				}
			}
		}
	}
}

// space is the rectangle without edges around the cell of p, which is in the bounds; false if an
// edge goes through the cell.
func (g *grid) space(p geometry.Point) (geometry.Box, bool) {
	x, y := g.column(p.Lon), g.row(p.Lat)
	n := int(g.states.away(y*g.w + x))
	if n == 0 {
		return geometry.Box{}, false
	}
	return geometry.Box{
		MinLon: g.bounds.MinLon + float64(x-n+1)*g.stepX, MinLat: g.bounds.MinLat + float64(y-n+1)*g.stepY,
		MaxLon: g.bounds.MinLon + float64(x+n)*g.stepX, MaxLat: g.bounds.MinLat + float64(y+n)*g.stepY,
	}, true
}

// free reports whether an area certainly has no edge: it is in the space around its corner.
func (g *grid) free(around geometry.Box) bool {
	p := geometry.Point{Lon: around.MinLon, Lat: around.MinLat}
	if !g.bounds.Contains(p) {
		return false
	}
	b, ok := g.space(p)
	return ok && b.MinLon+edgePad < around.MinLon && around.MaxLon < b.MaxLon-edgePad &&
		b.MinLat+edgePad < around.MinLat && around.MaxLat < b.MaxLat-edgePad
}

// Clearance implements Outline.
//
// hot: guarded by BenchmarkClearance and TestOutlinesDoNotAllocate.
func (x *tree) Clearance(p geometry.Point) float64 {
	g := x.grid
	if !g.bounds.Contains(p) || !g.beyond.Empty() {
		return g.outside(p)
	}
	b, ok := g.space(p)
	if !ok {
		return 0
	}
	return clearance(g.within(p, b))
}

// clearance takes the slack off a distance.
func clearance(metres float64) float64 {
	if metres >= MostClearance {
		return MostClearance
	}
	return max(metres-slack, 0)
}

// within is the distance from p to the border of a box around it, or to fences the other way round
// the world, or less.
func (g *grid) within(p geometry.Point, b geometry.Box) float64 {
	lon := min(p.Lon-b.MinLon, b.MaxLon-p.Lon, g.bounds.MinLon+360-p.Lon, p.Lon-g.bounds.MaxLon+360, farLon)
	lat := min(p.Lat-b.MinLat, b.MaxLat-p.Lat)
	return min(lat*geometry.LatDegree, lon*g.perLon[g.row(p.Lat)])
}

// outside is Clearance by boxes, for points that are not within the cells, or not alone.
func (g *grid) outside(p geometry.Point) float64 {
	m := geometry.MetricAt(p)
	least := float64(MostClearance)
	if !g.beyond.Empty() {
		least = min(least, m.Box(g.beyond))
	}
	switch {
	case g.bounds.Empty():
	case !g.bounds.Contains(p):
		least = min(least, m.Box(g.bounds))
	default:
		b, ok := g.space(p)
		if !ok {
			return 0
		}
		least = min(least, g.within(p, b))
	}
	return clearance(least)
}
