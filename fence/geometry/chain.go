package geometry

import "unsafe"

// chainEdges is how many edges a chain has at most. Short ones discard more, long ones have
// fewer boxes to look at; between 8 and 32 it makes little difference for streets.
const chainEdges = 16

// chain is a piece of a ring with its box: vertices that each but the first ends an edge.
type chain struct {
	box      Box
	vertices []Point
}

// PreparedPart answers for a part as the part itself does, with fewer edges looked at. It
// shares the part's memory.
type PreparedPart []chain

func Prepare(pg Polygon) PreparedPart {
	var chains PreparedPart
	for _, r := range pg {
		if len(r) == 0 {
			continue
		}
		for from := 0; from+1 < len(r); from += chainEdges {
			to := min(from+chainEdges+1, len(r))
			chains = append(chains, newChain(r[from:to:to]))
		}
		chains = append(chains, newChain([]Point{r[len(r)-1], r[0]}))
	}
	return chains
}

func newChain(vertices []Point) chain {
	return chain{Polygon{vertices}.Bounds(), vertices}
}

// holds is Polygon.holds. It discards exactly: an edge that counts spans the point's latitude
// and reaches to its east; and one that spans it and lies all to its east counts, so that for
// a chain to the east only the two ends tell whether the number is odd.
//
// hot: guarded by BenchmarkAppend and the conformance suite's "does not allocate".
func (part PreparedPart) holds(p Point) bool {
	odd := false
	for i := range part {
		c := &part[i]
		if p.Lat < c.box.MinLat || p.Lat >= c.box.MaxLat || p.Lon >= c.box.MaxLon {
			continue
		}
		a := c.vertices[0]
		if p.Lon < c.box.MinLon {
			b := c.vertices[len(c.vertices)-1]
			odd = odd != spans(a, b, p.Lat)
			continue
		}
		for _, b := range c.vertices[1:] {
			if spans(a, b, p.Lat) && eastward(a, b, p) {
				odd = !odd
			}
			a = b
		}
	}
	return odd
}

// PreparedBytes estimates the memory of prepared parts with so many edges.
func PreparedBytes(edges, parts int) int64 {
	return int64(edges/chainEdges+parts) * int64(unsafe.Sizeof(chain{}))
}

// Bytes estimates the memory of the part beside its vertices.
func (part PreparedPart) Bytes() int64 { return int64(len(part)) * int64(unsafe.Sizeof(chain{})) }

// Meets reports whether an edge of the part has a point in common with one of another part, which
// lies within the bounds.
func (part PreparedPart) Meets(o PreparedPart, bounds Box) bool {
	for i := range part {
		if part[i].box.Intersects(bounds) && o.meetsChain(&part[i]) {
			return true
		}
	}
	return false
}

func (part PreparedPart) meetsChain(c *chain) bool {
	for i := range part {
		if part[i].box.Intersects(c.box) && part[i].meets(c) {
			return true
		}
	}
	return false
}

func (c *chain) meets(o *chain) bool {
	for i := range c.edges() {
		a, b := c.edge(i)
		for j := range o.edges() {
			if p, q := o.edge(j); edgesMeet(a, b, p, q) {
				return true
			}
		}
	}
	return false
}

// edges is the number of edges: a chain of one vertex has one, to itself.
func (c *chain) edges() int { return max(len(c.vertices)-1, 1) }

func (c *chain) edge(i int) (Point, Point) {
	return c.vertices[i], c.vertices[min(i+1, len(c.vertices)-1)]
}

// edgesMeet reports whether the closed edges a-b and p-q have a point in common, exactly.
func edgesMeet(a, b, p, q Point) bool {
	if max(a.Lon, b.Lon) < min(p.Lon, q.Lon) || max(p.Lon, q.Lon) < min(a.Lon, b.Lon) ||
		max(a.Lat, b.Lat) < min(p.Lat, q.Lat) || max(p.Lat, q.Lat) < min(a.Lat, b.Lat) {
		return false
	}
	// With boxes that meet, edges are apart only if one is all to one side of the other's line.
	return Orient(a, b, p)*Orient(a, b, q) <= 0 && Orient(p, q, a)*Orient(p, q, b) <= 0
}
