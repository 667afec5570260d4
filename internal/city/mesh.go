package city

// mesh is a planar subdivision as a half-edge structure: vertices, straight
// edges between them, and the faces that the edges enclose. Every boundary
// exists once; the half-edges e and e^1 are its two sides, each with its face on
// its left. Two faces therefore cannot disagree on the line between them.
//
// Invariants: next and prev are inverse; face is constant along a loop of next;
// edges meet only at vertices (callers check before they insert).
type mesh struct {
	pos []vec
	out []int32 // by vertex: one half-edge that starts there

	org, next, prev, face []int32   // by half-edge
	class                 []class   // by edge (half-edge / 2)
	first                 []int32   // by face: one half-edge of its loop
	region                []int32   // by face: its district
	axis                  []vec     // by face: the direction of its street grid
	bridges               []crossed // street pieces over water, which bound no face
}

// crossed is a piece of a street over water between two coast vertices.
type crossed struct {
	from, to int32
	via      []vec
}

// class is the kind of line along an edge.
type class uint8

const (
	shore    class = iota // land on one side, water on the other; no street
	arterial              // avenues, ring roads and bridges
	street                // between districts
	lane                  // within a district
)

// water is the face outside every landmass.
const water = -1

// addLand adds a landmass with its shore, counter-clockwise, as one new face.
// Its region is its number.
func (m *mesh) addLand(ring []vec) int32 {
	f := m.addFace(0, vec{1, 0})
	m.region[f] = f
	n := int32(len(ring))
	v0, e0 := int32(len(m.pos)), int32(len(m.org))
	for i := range n {
		m.pos = append(m.pos, ring[i])
		m.out = append(m.out, e0+2*i)
		after, before := (i+1)%n, (i+n-1)%n
		m.org = append(m.org, v0+i, v0+after)
		m.next = append(m.next, e0+2*after, e0+2*before+1)
		m.prev = append(m.prev, e0+2*before, e0+2*after+1)
		m.face = append(m.face, f, water)
		m.class = append(m.class, shore)
	}
	m.first[f] = e0
	return f
}

func (m *mesh) addFace(region int32, axis vec) int32 {
	m.first = append(m.first, 0)
	m.region = append(m.region, region)
	m.axis = append(m.axis, axis)
	return int32(len(m.first) - 1)
}

// from and to are the ends of a half-edge.
func (m *mesh) from(e int32) vec { return m.pos[m.org[e]] }
func (m *mesh) to(e int32) vec   { return m.pos[m.org[e^1]] }

// addEdge appends an unlinked edge from a to b.
func (m *mesh) addEdge(a, b int32, c class) int32 {
	e := int32(len(m.org))
	m.org = append(m.org, a, b)
	m.next = append(m.next, 0, 0)
	m.prev = append(m.prev, 0, 0)
	m.face = append(m.face, 0, 0)
	m.class = append(m.class, c)
	return e
}

func (m *mesh) link(e, f int32) { m.next[e], m.prev[f] = f, e }

// split puts a vertex at p on the edge of e, which keeps its first half.
func (m *mesh) split(e int32, p vec) int32 {
	v := int32(len(m.pos))
	m.pos = append(m.pos, p)
	t := e ^ 1
	end := m.org[t]
	n := m.addEdge(v, end, m.class[e/2])
	m.face[n], m.face[n^1] = m.face[e], m.face[t]
	after, before := m.next[e], m.prev[t]
	m.link(e, n)
	m.link(n, after)
	m.link(before, n^1)
	m.link(n^1, t)
	m.org[t] = v
	if m.out[end] == t {
		m.out[end] = n ^ 1
	}
	m.out = append(m.out, n)
	return v
}

// cut divides a face along a chain of new edges from the origin of ha to the
// origin of hb by way of via; ha and hb belong to the face. The face keeps the
// part left of the chain, the new face returned lies right of it.
func (m *mesh) cut(ha, hb int32, via []vec, c class) int32 {
	f := m.face[ha]
	right := m.addFace(m.region[f], m.axis[f])
	beforeA, beforeB := m.prev[ha], m.prev[hb]
	prev, tail := beforeA, hb
	at := m.org[ha]
	var lastBack int32 = -1
	for i := range len(via) + 1 {
		to := m.org[hb]
		if i < len(via) {
			to = int32(len(m.pos))
			m.pos = append(m.pos, via[i])
			m.out = append(m.out, 0)
		}
		e := m.addEdge(at, to, c)
		m.out[at] = e
		m.link(prev, e)
		m.face[e] = f
		if lastBack < 0 {
			m.link(e^1, ha)
		} else {
			m.link(e^1, lastBack)
		}
		prev, lastBack, at = e, e^1, to
	}
	m.link(prev, tail)
	m.link(beforeB, lastBack)
	m.first[f], m.first[right] = prev, lastBack
	for e := range m.loop(lastBack) {
		m.face[e] = right
	}
	return right
}

// loop yields the half-edges of a face, starting at e.
func (m *mesh) loop(e int32) func(func(int32) bool) {
	return func(yield func(int32) bool) {
		for h := e; ; {
			if !yield(h) {
				return
			}
			if h = m.next[h]; h == e {
				return
			}
		}
	}
}

// around yields the half-edges that start at v, clockwise.
func (m *mesh) around(v int32) func(func(int32) bool) {
	return func(yield func(int32) bool) {
		for h := m.out[v]; ; {
			if !yield(h) {
				return
			}
			if h = m.next[h^1]; h == m.out[v] {
				return
			}
		}
	}
}

// ring is the outline of a face.
func (m *mesh) ring(f int32) []vec {
	var r []vec
	for e := range m.loop(m.first[f]) {
		r = append(r, m.from(e))
	}
	return r
}

// corner finds the half-edge at v whose face a step from v in direction d
// enters, if d keeps a sine of at least minSin from the edges on both sides.
func (m *mesh) corner(v int32, d vec, minSin float64) (int32, bool) {
	for h := range m.around(v) {
		a := m.to(h).sub(m.pos[v])
		b := m.from(m.prev[h]).sub(m.pos[v])
		if !between(a, d, b) {
			continue
		}
		return h, apart(a, d, minSin) && apart(d, b, minSin)
	}
	return 0, false
}

// between reports whether a counter-clockwise turn from a meets d strictly before b. If a and b
// point the same way, the turn is a full one.
func between(a, d, b vec) bool {
	if ab := a.cross(b); ab > 0 || ab == 0 && a.dot(b) < 0 {
		return a.cross(d) > 0 && d.cross(b) > 0 || ab == 0 && a.cross(d) > 0
	}
	return !(b.cross(d) >= 0 && d.cross(a) >= 0)
}

// apart reports whether the angle between a and b has a sine of at least s, or is obtuse.
func apart(a, b vec, s float64) bool {
	if a.dot(b) <= 0 {
		return true
	}
	c := a.cross(b)
	return float64(c*c) >= float64(float64(s*s)*float64(a.dot(a)*b.dot(b)))
}
