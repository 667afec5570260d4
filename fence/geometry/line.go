package geometry

import "math"

// Line is an open chain of vertices: an edge joins each to the next. It has no area, so it holds no
// point, but it can be crossed.
type Line []Point

// MultiLine is several lines that count as one, in their order.
type MultiLine []Line

// Distance returns the distance in metres from p to the nearest place on the line. It is +Inf if
// the line has no vertex, or if p is not finite. Metric states its error.
func (l Line) Distance(p Point) float64 { return MultiLine{l}.Distance(p) }

// Progress returns the metres along the line from its beginning to the place on it that is nearest
// to p, the first one if there are several. It is NaN where Distance is +Inf.
func (l Line) Progress(p Point) float64 { return MultiLine{l}.Progress(p) }

// Length returns the length of the line in metres.
func (l Line) Length() float64 {
	sum := 0.0
	for i := 1; i < len(l); i++ {
		sum += edgeLength(l[i-1], l[i])
	}
	return sum
}

// Distance returns the distance in metres from p to the nearest of the lines: see Line.Distance.
func (ml MultiLine) Distance(p Point) float64 {
	metres, _, _, _ := ml.nearest(p)
	return metres
}

// Progress returns Line.Progress on the nearest of the lines, and the lengths of those before it.
func (ml MultiLine) Progress(p Point) float64 {
	_, line, edge, share := ml.nearest(p)
	if line < 0 {
		return math.NaN()
	}
	l := ml[line]
	sum := ml[:line].Length() + l[:edge+1].Length()
	if edge+1 < len(l) {
		sum += float64(share * edgeLength(l[edge], l[edge+1]))
	}
	return sum
}

// PreparedLines measure as their lines do, with fewer edges looked at.
type PreparedLines []chain

// PrepareLines returns the lines for measuring. It shares their memory.
func PrepareLines(ml MultiLine) PreparedLines {
	var chains PreparedLines
	for _, l := range ml {
		for from := 0; from < len(l); from += chainEdges {
			if to := min(from+chainEdges+1, len(l)); to-from > 1 || len(l) == 1 {
				chains = append(chains, newChain(l[from:to:to]))
			}
		}
	}
	return chains
}

// Distance is MultiLine.Distance.
func (pl PreparedLines) Distance(p Point) float64 {
	p, ok := Normalize(p.Lon, p.Lat)
	if !ok {
		return math.Inf(1)
	}
	m := MetricAt(p)
	s := newSearch(&m)
	PreparedPart(pl).measure(&s)
	return s.metres()
}

// Length returns the length of all lines in metres.
func (ml MultiLine) Length() float64 {
	sum := 0.0
	for _, l := range ml {
		sum += l.Length()
	}
	return sum
}

// nearest returns the place on the lines that is nearest to p: on which line, after which vertex,
// and at which share of the edge from there. The line is -1 if there is none.
func (ml MultiLine) nearest(p Point) (metres float64, line, edge int, share float64) {
	p, ok := Normalize(p.Lon, p.Lat)
	if !ok {
		return math.Inf(1), -1, 0, 0
	}
	m := MetricAt(p)
	s := newSearch(&m)
	line = -1
	for i, l := range ml {
		for k := range l.Edges() {
			if t, ok := s.edge(l.Edge(k)); ok {
				line, edge, share = i, k, t
			}
		}
	}
	return s.metres(), line, edge, share
}

// Edges is the number of edges. A line of one vertex has one, to itself.
func (l Line) Edges() int {
	if len(l) == 1 {
		return 1
	}
	return max(len(l)-1, 0)
}

// Edge returns the ends of the i-th edge.
func (l Line) Edge(i int) (a, b Point) { return l[i], l[min(i+1, len(l)-1)] }

// Edges is the number of edges of all lines.
func (ml MultiLine) Edges() int {
	n := 0
	for _, l := range ml {
		n += l.Edges()
	}
	return n
}

// Vertices is the number of vertices of all lines.
func (ml MultiLine) Vertices() int {
	n := 0
	for _, l := range ml {
		n += len(l)
	}
	return n
}

// Bounds is the smallest box around all vertices; it is Empty if there are none.
func (l Line) Bounds() Box { return Polygon{Ring(l)}.Bounds() }

// Bounds is the smallest box around all vertices; it is Empty if there are none.
func (ml MultiLine) Bounds() Box {
	b := EmptyBox()
	for _, l := range ml {
		b = b.Union(l.Bounds())
	}
	return b
}

// lengthDegrees is the length of the pieces in which an edge is measured. What is straight in
// degrees is then no more than a ten-millionth longer than the shortest way.
const lengthDegrees = 0.1

// edgeLength returns the length in metres of the edge a-b.
func edgeLength(a, b Point) float64 {
	dlon, dlat := b.Lon-a.Lon, b.Lat-a.Lat
	n := max(math.Ceil(max(math.Abs(dlon), math.Abs(dlat))/lengthDegrees), 1)
	stepLon, stepLat := dlon/n, dlat/n
	sum := 0.0
	for i := 0.0; i < n; i++ {
		p := Point{a.Lon + float64(i*stepLon), a.Lat + float64(i*stepLat)}
		m := MetricAt(p)
		sum += m.To(Point{p.Lon + stepLon, p.Lat + stepLat})
	}
	return sum
}
