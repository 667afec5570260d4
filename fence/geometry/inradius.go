package geometry

import (
	"container/heap"
	"math"
)

const (
	// inradiusError is how much less than the radius the result may be, as a share of it.
	inradiusError = 0.1
	// inradiusCells bounds the places that are looked at for one part.
	inradiusCells = 2000
)

// Inradius returns the radius in metres of the largest circle in a part of the area: the greatest
// distance of a place within to the boundary. It is up to a tenth less, and more only for parts so
// thin and winding that 2,000 places do not tell. It is 0 without an area.
//
// It divides the box of a part into four, again and again, and the one first in which there may be
// the most (Garcia-Castellanos and Lombardo, 2007).
func (mp MultiPolygon) Inradius() float64 { return mp.InradiusUpTo(math.Inf(1)) }

// InradiusUpTo is Inradius, but looks no further once it has a circle of a radius that is enough,
// and returns that one. Less than enough is Inradius.
func (mp MultiPolygon) InradiusUpTo(enough float64) float64 {
	if len(mp.seams()) > 0 {
		return inradius(mp, mp.boundsAcross(), 0, enough)
	}
	best := 0.0
	for _, part := range mp {
		if best = inradius(MultiPolygon{part}, part.Bounds(), best, enough); best >= enough {
			break
		}
	}
	return best
}

// boundsAcross is the box around an area that reaches over the antimeridian, where parts in the
// western half of the world are at longitudes from 180 on. Bounds would be as wide as the world, of
// which 2,000 places tell too little.
func (mp MultiPolygon) boundsAcross() Box {
	b := EmptyBox()
	for _, part := range mp {
		of := part.Bounds()
		if of.MaxLon <= 0 {
			of.MinLon, of.MaxLon = of.MinLon+360, of.MaxLon+360
		}
		b = b.Union(of)
	}
	return b
}

// cell is a box of degrees, of which the centre is looked at.
type cell struct {
	centre    Point
	half      Point   // of its extent
	potential float64 // no place in it is further from the boundary
}

// cells is a heap: first the one with the greatest potential.
type cells []cell

func (c cells) Len() int           { return len(c) }
func (c cells) Less(i, j int) bool { return c[i].potential > c[j].potential }
func (c cells) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cells) Push(x any)        { *c = append(*c, x.(cell)) }
func (c *cells) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// inradius returns best, or that of the area if it is greater, or any that is enough.
func inradius(mp MultiPolygon, box Box, best, enough float64) float64 {
	if box.Empty() {
		return best
	}
	l := label{area: PrepareArea(mp), best: best, enough: enough}
	l.cover(box)
	for looked := 0; len(l.cells) > 0 && looked < inradiusCells && l.best < l.enough; looked += 4 {
		c := heap.Pop(&l.cells).(cell)
		if c.potential <= float64((1+inradiusError)*l.best) {
			break
		}
		l.divide(c)
	}
	return l.best
}

// label is the search for the place that is furthest from the boundary.
type label struct {
	area   *PreparedArea
	best   float64
	enough float64
	cells  cells
}

// cover begins with cells that are about square, at most inradiusStart of them.
func (l *label) cover(b Box) {
	centre := Point{(b.MinLon + b.MaxLon) / 2, (b.MinLat + b.MaxLat) / 2}
	m := MetricAt(centre)
	width, height := (b.MaxLon-b.MinLon)*m.east[0], (b.MaxLat-b.MinLat)*m.north[0]
	across, up := ratio(width, height), ratio(height, width)
	half := Point{(b.MaxLon - b.MinLon) / (2 * across), (b.MaxLat - b.MinLat) / (2 * up)}
	for i := 0.0; i < across; i++ {
		for j := 0.0; j < up; j++ {
			l.look(Point{b.MinLon + float64((2*i+1)*half.Lon), b.MinLat + float64((2*j+1)*half.Lat)}, half)
		}
	}
}

// inradiusStart bounds the cells side by side at the beginning.
const inradiusStart = 32

func ratio(a, b float64) float64 {
	if !(b > 0) {
		return 1
	}
	return min(max(math.Floor(a/b), 1), inradiusStart)
}

func (l *label) divide(c cell) {
	half := Point{c.half.Lon / 2, c.half.Lat / 2}
	for _, p := range [...]Point{
		{c.centre.Lon - half.Lon, c.centre.Lat - half.Lat},
		{c.centre.Lon + half.Lon, c.centre.Lat - half.Lat},
		{c.centre.Lon - half.Lon, c.centre.Lat + half.Lat},
		{c.centre.Lon + half.Lon, c.centre.Lat + half.Lat},
	} {
		l.look(p, half)
	}
}

// look asks about the centre of a cell, and keeps the cell if there may be better in it.
func (l *label) look(centre, half Point) {
	if l.best >= l.enough {
		return
	}
	d := l.area.SignedDistance(Point{WrapLon(centre.Lon), centre.Lat})
	if math.IsInf(d, -1) {
		return
	}
	l.best = max(l.best, d)
	c := cell{centre, half, d + reach(centre, half)}
	if c.potential > float64((1+inradiusError)*l.best) {
		heap.Push(&l.cells, c)
	}
}

// reach returns a distance that is no less than that from the centre to a corner of the cell.
func reach(centre, half Point) float64 {
	_, cos := sincos(max(math.Abs(centre.Lat)-half.Lat, 0))
	const degree = 1.01 * equatorRadius * radian
	x, y := half.Lon*cos*degree, half.Lat*degree
	return math.Sqrt(float64(x*x) + float64(y*y))
}
