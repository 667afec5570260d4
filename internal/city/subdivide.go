package city

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
)

// grain is the size of a district wanted at a place, m² before scaling to the
// number asked for: small in the centre, large at the edge of town.
func grain(p vec) float64 {
	const centre, outskirts, radius = 0.032e6, 0.62e6, 13000
	r := p.sub(vec{500, 900}).len() / radius
	sub := p.sub(vec{5200, -11000}).len() / 5000 // the southern island has a small centre of its own
	t := min(1, float64(r*r*0.7)+float64(r*0.45), 0.25+float64(sub*sub))
	return lerp(centre, outskirts, t)
}

// carver divides faces by streets across them, the largest first, relative to the wanted size at
// their place.
type carver struct {
	m     *mesh
	rng   *rand.Rand
	class class
	l     limits // share, sine and least; the lengths follow from the face's size
	queue faceQueue
}

type sizedFace struct {
	face int32
	size float64 // area as a multiple of the grain
}

// faceQueue is a heap with the largest face first.
type faceQueue []sizedFace

func (q faceQueue) Len() int           { return len(q) }
func (q faceQueue) Less(i, j int) bool { return before(q[i], q[j]) < 0 }
func (q faceQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *faceQueue) Push(x any)        { *q = append(*q, x.(sizedFace)) }
func (q *faceQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func before(a, b sizedFace) int {
	return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.face, b.face))
}

// carve divides the faces until there are want of them, or none that can be
// divided any more.
func (c *carver) carve(faces []int32, want int) {
	c.queue = c.queue[:0]
	for _, f := range faces {
		c.add(f)
	}
	for count := len(faces); count < want && len(c.queue) > 0; {
		f := heap.Pop(&c.queue).(sizedFace).face
		if right, ok := c.divide(f); ok {
			c.add(f)
			c.add(right)
			count++
		}
	}
}

func (c *carver) add(f int32) {
	ring := c.m.ring(f)
	heap.Push(&c.queue, sizedFace{f, area(ring) / grain(centroid(ring))})
}

// divide lays one street across a face: across its longer side, in line with a
// street that ends at it from outside if there is one, else near the middle.
func (c *carver) divide(f int32) (right int32, ok bool) {
	ring := c.m.ring(f)
	l := c.l
	scale := math.Sqrt(area(ring))
	l.snap, l.clearance = 0.16*scale, 0.05*scale
	axis := c.m.axis[f].turn(jitter(c.rng, 0.004))
	across := axis.left()
	if extent(ring, axis) < extent(ring, across) {
		axis, across = across, axis.scale(-1)
	}
	for range 2 {
		if right, ok = c.divideAcross(f, ring, axis, across, l); ok {
			c.m.axis[f], c.m.axis[right] = axis, axis
			return right, true
		}
		axis, across = across, axis.scale(-1)
	}
	return 0, false
}

func (c *carver) divideAcross(f int32, ring []vec, axis, across vec, l limits) (int32, bool) {
	lo, hi := span(ring, axis)
	middle := lerp(lo, hi, 0.5+jitter(c.rng, 0.09))
	for _, v := range c.endings(f, axis, lerp(lo, hi, 0.3), lerp(lo, hi, 0.7), middle) {
		if right, ok := c.through(f, v, across, l); ok {
			return right, true
		}
	}
	reach := hi - lo
	for _, shift := range []float64{0, 0.07, -0.07, 0.14, -0.14, 0.21, -0.21} {
		at := middle + float64(shift*reach)
		if right, ok := c.chord(f, axis.scale(at), across, l); ok {
			return right, true
		}
	}
	return 0, false
}

// endings are the vertices at which streets end from outside, on a straight
// part of the face's outline, between two positions along the axis; nearest to
// the middle first.
func (c *carver) endings(f int32, axis vec, from, to, middle float64) []int32 {
	m := c.m
	type ending struct {
		v   int32
		off float64
	}
	var found []ending
	for e := range m.loop(m.first[f]) {
		at := m.from(e).dot(axis)
		if at < from || at > to || m.class[e/2] == shore || m.next[e^1] == m.prev[e]^1 {
			continue // outside, or of degree two
		}
		a, b := m.from(e).sub(m.from(m.prev[e])), m.to(e).sub(m.from(e))
		if a.dot(b) > 0 && !apart(a, b, 0.2) {
			found = append(found, ending{m.org[e], max(at-middle, middle-at)})
		}
	}
	slices.SortFunc(found, func(a, b ending) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.v, b.v)) })
	var vs []int32
	for _, e := range found[:min(3, len(found))] {
		vs = append(vs, e.v)
	}
	return vs
}

// through divides f by a street from its vertex v in direction ±d.
func (c *carver) through(f, v int32, d vec, l limits) (int32, bool) {
	m := c.m
	for _, d := range []vec{d, d.scale(-1)} {
		h, ok := m.corner(v, d, l.sine)
		if !ok || m.face[h] != f {
			continue
		}
		hits := c.hits(f, m.pos[v], d)
		for _, x := range hits {
			if x.at > l.clearance && m.org[x.e] != v && m.org[x.e^1] != v {
				return m.try(end{v, h, m.pos[v]}, m.endOn(x.e, x.pos, l.snap), nil, c.class, l)
			}
		}
	}
	return 0, false
}

// chord divides f along the line through p in direction d, where the line is
// longest inside the face.
func (c *carver) chord(f int32, p, d vec, l limits) (int32, bool) {
	hits := c.hits(f, p, d)
	best, length := -1, 0.0
	for i := 0; i+1 < len(hits); i += 2 {
		if n := hits[i+1].at - hits[i].at; n > length {
			best, length = i, n
		}
	}
	if best < 0 {
		return 0, false
	}
	a, b := hits[best], hits[best+1]
	return c.m.try(c.m.endOn(a.e, a.pos, l.snap), c.m.endOn(b.e, b.pos, l.snap), nil, c.class, l)
}

// lineHit is where a line crosses a half-edge of a face.
type lineHit struct {
	at  float64 // metres along the line
	e   int32
	pos vec
}

// hits are the crossings of the outline of f with a line, in its order. The line
// is inside the face between the first and the second, and so on.
func (c *carver) hits(f int32, p, d vec) []lineHit {
	var hits []lineHit
	for e := range c.m.loop(c.m.first[f]) {
		a, b := c.m.from(e), c.m.to(e)
		sa, sb := d.cross(a.sub(p)), d.cross(b.sub(p))
		if (sa > 0) == (sb > 0) {
			continue
		}
		q := mix(a, b, sa/(sa-sb))
		hits = append(hits, lineHit{q.sub(p).dot(d), e, q})
	}
	slices.SortFunc(hits, func(a, b lineHit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.e, b.e)) })
	return hits
}

// span is the range of a ring's projection on an axis.
func span(ring []vec, axis vec) (lo, hi float64) {
	lo = ring[0].dot(axis)
	hi = lo
	for _, p := range ring {
		d := p.dot(axis)
		lo, hi = min(lo, d), max(hi, d)
	}
	return lo, hi
}

func extent(ring []vec, axis vec) float64 {
	lo, hi := span(ring, axis)
	return hi - lo
}

// alignAxis turns the street grid of a face along the longest street beside it.
func (m *mesh) alignAxis(f int32, rng *rand.Rand) {
	axis, longest := vec{1, 0}.turn(rng.Float64()), 0.0
	for e := range m.loop(m.first[f]) {
		d := m.to(e).sub(m.from(e))
		if n := d.len(); m.class[e/2] != shore && n > longest {
			axis, longest = d.unit(), n
		}
	}
	m.axis[f] = axis
}
