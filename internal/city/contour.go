package city

import "math"

// field is a height map sampled on a square grid; land is where it is positive.
type field struct {
	origin vec
	step   float64 // metres between samples
	w, h   int     // samples per row, rows
	z      []float64
}

// sample evaluates f over the box from lo to hi. The outermost samples are
// forced under water, so that every contour closes.
//
// Squares of 8 by 8 samples whose middle is far above or below the water, given
// that f changes by no more than about 4 metres per metre, all get the value of
// the middle: nine tenths of the map.
func sample(lo, hi vec, step float64, f func(vec) float64) *field {
	const square = 8
	g := &field{origin: lo, step: step, w: int((hi.x-lo.x)/step) + 1, h: int((hi.y-lo.y)/step) + 1}
	g.z = make([]float64, g.w*g.h)
	for j := 0; j < g.h; j += square {
		for i := 0; i < g.w; i += square {
			middle := f(g.at(float64(i+square/2), float64(j+square/2)))
			near := math.Abs(middle) < 4*step*square*0.71
			g.fill(i, j, square, func(p vec) float64 {
				if near {
					return f(p)
				}
				return middle
			})
		}
	}
	return g
}

// fill samples f over a square, as far as it lies on the grid.
func (g *field) fill(i0, j0, size int, f func(vec) float64) {
	for j := j0; j < min(j0+size, g.h); j++ {
		for i := i0; i < min(i0+size, g.w); i++ {
			if i == 0 || j == 0 || i == g.w-1 || j == g.h-1 {
				g.z[j*g.w+i] = -1
			} else {
				g.z[j*g.w+i] = f(g.at(float64(i), float64(j)))
			}
		}
	}
}

func (g *field) at(i, j float64) vec {
	return vec{g.origin.x + float64(i*g.step), g.origin.y + float64(j*g.step)}
}

// The sides of a grid cell. A contour leaves a cell through one side and thereby
// enters its neighbour, so a side has at most one contour through it.
const (
	bottom = iota
	right
	top
	left
)

// crossings lists, for each pattern of land corners (1 = bottom left, 2 = bottom
// right, 4 = top right, 8 = top left), the side at which a contour with land on
// its left enters the cell and the side at which it leaves. In the two
// saddles (5 and 10) the land corners stay apart.
var crossings = [16][][2]uint8{
	1: {{bottom, left}}, 2: {{right, bottom}}, 4: {{top, right}}, 8: {{left, top}},
	3: {{right, left}}, 6: {{top, bottom}}, 12: {{left, right}}, 9: {{bottom, top}},
	7: {{top, left}}, 14: {{left, bottom}}, 13: {{bottom, right}}, 11: {{right, top}},
	5: {{bottom, left}, {top, right}}, 10: {{right, bottom}, {left, top}},
}

// contours are the shore lines of the field by marching squares, counter-clockwise
// around land and clockwise around lakes. They are simple and do not touch,
// since each vertex has a grid edge of its own and lies well inside it.
func (g *field) contours() [][]vec {
	const none = -1
	next := make([]int32, 2*g.w*g.h) // by grid edge: the edge at which the contour leaves the next cell
	for i := range next {
		next[i] = none
	}
	for j := range g.h - 1 {
		for i := range g.w - 1 {
			for _, c := range crossings[g.pattern(i, j)] {
				next[g.edge(i, j, c[0])] = int32(g.edge(i, j, c[1]))
			}
		}
	}
	var rings [][]vec
	for start := range next {
		if next[start] == none {
			continue
		}
		var ring []vec
		for e := int32(start); next[e] != none; {
			ring = append(ring, g.crossing(int(e)))
			e, next[e] = next[e], none
		}
		rings = append(rings, ring)
	}
	return rings
}

func (g *field) pattern(i, j int) int {
	p := 0
	k := j*g.w + i
	for bit, at := range [4]int{k, k + 1, k + g.w + 1, k + g.w} {
		if g.z[at] > 0 {
			p |= 1 << bit
		}
	}
	return p
}

// edge numbers the sides of cell (i, j): even for horizontal, odd for vertical.
func (g *field) edge(i, j int, side uint8) int {
	switch side {
	case right:
		return 2*(j*g.w+i+1) + 1
	case top:
		return 2 * ((j+1)*g.w + i)
	case left:
		return 2*(j*g.w+i) + 1
	}
	return 2 * (j*g.w + i)
}

// crossing is where the shore cuts a grid edge, kept off its ends.
func (g *field) crossing(edge int) vec {
	k := edge / 2
	other := k + 1
	if edge%2 == 1 {
		other = k + g.w
	}
	t := clamp(g.z[k]/(g.z[k]-g.z[other]), 0.12, 0.88)
	i, j := float64(k%g.w), float64(k/g.w)
	if edge%2 == 1 {
		return g.at(i, j+t)
	}
	return g.at(i+t, j)
}
