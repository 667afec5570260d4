package city

import (
	"cmp"
	"math"
	"slices"
)

// limits are the rules for a new street. All lengths are in metres.
type limits struct {
	snap      float64 // an end this near to a vertex is moved onto it
	clearance float64 // no closer to other streets, but near its own ends
	sine      float64 // of the smallest angle with the streets that it meets
	share     float64 // the smaller part's least share of the face
	least     float64 // the smaller part's least area, m²
}

// end is where a new street meets the outline of a face: at vertex v, or if v
// is negative somewhere on the edge of the face's half-edge e.
type end struct {
	v, e int32
	pos  vec
}

// endOn makes an end of a point on e, moved to a vertex of e if one is near.
func (m *mesh) endOn(e int32, p vec, snap float64) end {
	if m.class[e/2] == shore { // finely divided as it is: nearly any vertex will do
		snap = float64(0.45 * m.to(e).sub(m.from(e)).len())
	}
	a, b := p.sub(m.from(e)).len(), p.sub(m.to(e)).len()
	switch {
	case a <= b && a < snap:
		return end{m.org[e], e, m.from(e)}
	case b < a && b < snap:
		return end{m.org[e^1], e, m.to(e)}
	}
	return end{-1, e, p}
}

// leave finds the half-edge of the face into which a street in direction d
// leaves the end: for a vertex the one that starts there, else the edge's own.
func (m *mesh) leave(n end, d vec, sine float64) (int32, bool) {
	if n.v >= 0 {
		return m.corner(n.v, d, sine)
	}
	along := m.to(n.e).sub(m.from(n.e))
	return n.e, along.cross(d) > 0 && apart(along, d, sine) && apart(along.scale(-1), d, sine)
}

func (m *mesh) touches(n end, h int32) bool {
	if n.v >= 0 {
		return m.org[h] == n.v || m.org[h^1] == n.v
	}
	return h == n.e
}

// try lays a street from a to b by way of via across the face between them, if
// the limits allow, and returns the new face.
func (m *mesh) try(a, b end, via []vec, c class, l limits) (right int32, ok bool) {
	chain := append(append([]vec{a.pos}, via...), b.pos)
	ha, okA := m.leave(a, chain[1].sub(a.pos), l.sine)
	hb, okB := m.leave(b, chain[len(chain)-2].sub(b.pos), l.sine)
	if !okA || !okB || ha == hb || m.face[ha] != m.face[hb] || m.face[ha] == water {
		return 0, false
	}
	if !m.clear(ha, a, b, chain, l.clearance) || !m.fair(ha, hb, chain, l) {
		return 0, false
	}
	return m.cut(m.settle(a, ha), m.settle(b, hb), via, c), true
}

// settle turns an end into a vertex, and returns the half-edge that starts there
// in the same face.
func (m *mesh) settle(n end, h int32) int32 {
	if n.v >= 0 {
		return h
	}
	m.split(h, n.pos)
	return m.next[h]
}

// clear reports whether the chain keeps its distance from the outline that h is part of.
func (m *mesh) clear(h int32, a, b end, chain []vec, clearance float64) bool {
	nearEnd := float64(4 * clearance)
	for e := range m.loop(h) {
		p, q := m.from(e), m.to(e)
		exempt := p.sub(a.pos).len() < nearEnd || p.sub(b.pos).len() < nearEnd
		for i := range len(chain) - 1 {
			if !(i == 0 && m.touches(a, e)) && !(i == len(chain)-2 && m.touches(b, e)) {
				if _, _, hit := intersect(chain[i], chain[i+1], p, q); hit {
					return false
				}
			}
			if d, _ := segmentDistance(p, chain[i], chain[i+1]); d < clearance && !exempt {
				return false
			}
			if d, _ := segmentDistance(chain[i+1], p, q); d < clearance && i < len(chain)-2 {
				return false
			}
		}
	}
	return true
}

// fair reports whether both parts of the face would be large enough.
func (m *mesh) fair(ha, hb int32, chain []vec, l limits) bool {
	part := slices.Clone(chain) // a to b; then on along the outline back to a
	part = append(part, m.to(hb))
	for h := m.next[hb]; h != ha; h = m.next[h] {
		part = append(part, m.to(h))
	}
	whole := area(m.ring(m.face[ha]))
	one := area(part)
	least := max(l.least, float64(l.share*whole))
	return one >= least && whole-one >= least
}

// stop is a place where a path meets the streets or shores that are there.
type stop struct {
	at float64 // along the path: vertex number + part of the segment after it
	v  int32
}

// lay puts a long street across all edges that it meets, with a crossing at each. A piece over
// water becomes a bridge if it is no longer than span. Pieces that break the limits are left out,
// and so are loose ends. A closed path repeats its first point at its end.
func (m *mesh) lay(path []vec, c class, l limits, span float64) {
	stops := m.stops(path, l.snap)
	closed := path[0] == path[len(path)-1]
	for i := range stops {
		a, b := stops[i], stops[(i+1)%len(stops)]
		var via []vec
		switch {
		case i+1 < len(stops):
			via = bends(path, a, b)
		case closed && len(stops) > 1:
			via = append(bends(path, a, stop{at: float64(len(path) - 1)}), bends(path, stop{at: -0.5}, b)...)
		default:
			continue
		}
		via = slices.DeleteFunc(via, func(p vec) bool {
			return p.sub(m.pos[a.v]).len() < 4*l.clearance || p.sub(m.pos[b.v]).len() < 4*l.clearance
		})
		if a.v == b.v || m.adjacent(a.v, b.v) {
			continue
		}
		from, to := end{a.v, -1, m.pos[a.v]}, end{b.v, -1, m.pos[b.v]}
		if _, ok := m.try(from, to, via, c, l); !ok {
			m.bridge(from, to, via, span)
		}
	}
}

// bridge records a street over water, if it is that and not too long.
func (m *mesh) bridge(a, b end, via []vec, span float64) {
	chain := append(append([]vec{a.pos}, via...), b.pos)
	var length float64
	for i := range len(chain) - 1 {
		length += chain[i+1].sub(chain[i]).len()
	}
	ha, okA := m.corner(a.v, chain[1].sub(a.pos), 0)
	hb, okB := m.corner(b.v, chain[len(chain)-2].sub(b.pos), 0)
	if okA && okB && length <= span && m.face[ha] == water && m.face[hb] == water {
		m.bridges = append(m.bridges, crossed{a.v, b.v, via})
	}
}

// bends are the inner vertices of a path between two stops.
func bends(path []vec, a, b stop) []vec {
	var via []vec
	for k := int(math.Floor(a.at)) + 1; k < len(path) && float64(k) < b.at; k++ {
		via = append(via, path[k])
	}
	return via
}

func (m *mesh) adjacent(a, b int32) bool {
	for h := range m.around(a) {
		if m.org[h^1] == b {
			return true
		}
	}
	return false
}

// stops finds where the path meets existing edges, in order along the path,
// and makes a vertex of each such place.
func (m *mesh) stops(path []vec, snap float64) []stop {
	type hit struct {
		at   float64
		edge int32
		pos  vec
	}
	var hits []hit
	for k := range len(path) - 1 {
		a, b := path[k], path[k+1]
		west, east := min(a.x, b.x), max(a.x, b.x)
		south, north := min(a.y, b.y), max(a.y, b.y)
		for e := int32(0); int(e) < len(m.org); e += 2 {
			p, q := m.from(e), m.to(e)
			if max(p.x, q.x) < west || min(p.x, q.x) > east || max(p.y, q.y) < south || min(p.y, q.y) > north {
				continue
			}
			if s, t, ok := intersect(a, b, p, q); ok {
				hits = append(hits, hit{float64(k) + s, e, mix(p, q, t)})
			}
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.edge, b.edge)) })
	var stops []stop
	split := map[int32]bool{}
	for _, h := range hits {
		if split[h.edge] {
			continue // meets the same short edge again: no street can use both places
		}
		n := m.endOn(h.edge, h.pos, snap)
		if n.v < 0 {
			n.v = m.split(h.edge, h.pos)
			split[h.edge] = true
		}
		if len(stops) == 0 || stops[len(stops)-1].v != n.v {
			stops = append(stops, stop{h.at, n.v})
		}
	}
	return stops
}
