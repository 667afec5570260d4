package city

import "paddock/fence/geometry"

// outlines assembles the geometry of each of n districts from the mesh. Each
// edge between two districts becomes an edge of both, point for point.
func (s *survey) outlines(n int) []geometry.MultiPolygon {
	shells, holes := make([][][]vec, n), make([][][]vec, n)
	seen := make([]bool, len(s.m.org))
	for e := range int32(len(seen)) {
		if seen[e] || !s.m.boundary(e) {
			continue
		}
		var ring []vec
		for h := e; !seen[h]; h = s.m.follow(h) {
			seen[h] = true
			ring = s.appendEdge(ring, h)
		}
		if r := s.m.region[s.m.face[e]]; area(ring) > 0 {
			shells[r] = append(shells[r], ring)
		} else {
			holes[r] = append(holes[r], ring)
		}
	}
	out := make([]geometry.MultiPolygon, n)
	for r := range out {
		for _, shell := range shells[r] {
			part := geometry.Polygon{toRing(shell)}
			for _, hole := range holes[r] {
				if within(mix(hole[0], hole[1], 0.5), shell) {
					part = append(part, toRing(hole))
				}
			}
			out[r] = append(out[r], part)
		}
	}
	return out
}

// boundary reports whether half-edge e has land on its left and another district or water on its
// right.
func (m *mesh) boundary(e int32) bool {
	f, g := m.face[e], m.face[e^1]
	return f != water && (g == water || m.region[f] != m.region[g])
}

// follow is the half-edge that continues the outline of the district left of e.
func (m *mesh) follow(e int32) int32 {
	n := m.next[e]
	for !m.boundary(n) {
		n = m.next[n^1]
	}
	return n
}
