package city

import "math"

// vec is a point or direction in metres, x east and y north of the city's
// centre. No product is ever added without an explicit float64 conversion: the
// conversion forbids the compiler to fuse the two into one rounding, which some
// CPUs do and others do not, and the map must have the same bytes on all.
type vec struct{ x, y float64 }

func (a vec) add(b vec) vec { return vec{a.x + b.x, a.y + b.y} }
func (a vec) sub(b vec) vec { return vec{a.x - b.x, a.y - b.y} }

func (a vec) scale(k float64) vec { return vec{float64(a.x * k), float64(a.y * k)} }

func (a vec) dot(b vec) float64 { return float64(a.x*b.x) + float64(a.y*b.y) }

// cross is positive if b lies counter-clockwise of a.
func (a vec) cross(b vec) float64 { return float64(a.x*b.y) - float64(a.y*b.x) }

// left is a turned by a quarter counter-clockwise.
func (a vec) left() vec { return vec{-a.y, a.x} }

func (a vec) len() float64 { return math.Sqrt(a.dot(a)) }

func (a vec) unit() vec {
	l := a.len()
	if l == 0 {
		return vec{1, 0}
	}
	return vec{a.x / l, a.y / l}
}

// turn rotates a counter-clockwise by a part of a full turn.
func (a vec) turn(turns float64) vec {
	s, c := sincos(turns)
	return vec{float64(a.x*c) - float64(a.y*s), float64(a.x*s) + float64(a.y*c)}
}

// mix is a at t = 0 and b at t = 1.
func mix(a, b vec, t float64) vec { return a.add(b.sub(a).scale(t)) }

// lerp is a at t = 0 and b at t = 1.
func lerp(a, b, t float64) float64 { return a + float64((b-a)*t) }

func clamp(x, lo, hi float64) float64 { return max(lo, min(hi, x)) }

// segmentDistance is the distance of p from the segment ab, and the parameter
// of the nearest point on it.
func segmentDistance(p, a, b vec) (dist, t float64) {
	d := b.sub(a)
	if l2 := d.dot(d); l2 > 0 {
		t = clamp(p.sub(a).dot(d)/l2, 0, 1)
	}
	return p.sub(mix(a, b, t)).len(), t
}

// intersect returns the parameters on ab and on cd at which the two segments cross, including a
// touch; ok is false for parallel or distant segments.
func intersect(a, b, c, d vec) (s, t float64, ok bool) {
	r, q := b.sub(a), d.sub(c)
	den := r.cross(q)
	if den == 0 {
		return 0, 0, false
	}
	w := c.sub(a)
	s, t = w.cross(q)/den, w.cross(r)/den
	return s, t, s >= 0 && s <= 1 && t >= 0 && t <= 1
}

// area is the signed area of a ring, positive if it runs counter-clockwise.
func area(ring []vec) float64 {
	var sum float64
	for i, p := range ring {
		sum += p.sub(ring[0]).cross(ring[(i+1)%len(ring)].sub(ring[0]))
	}
	return float64(sum / 2)
}

// centroid is the centre of mass of a ring of non-zero area.
func centroid(ring []vec) vec {
	var c vec
	var sum float64
	for i := range ring {
		p, q := ring[i].sub(ring[0]), ring[(i+1)%len(ring)].sub(ring[0])
		w := p.cross(q)
		sum += w
		c = c.add(p.add(q).scale(w))
	}
	if sum == 0 {
		return ring[0]
	}
	return ring[0].add(c.scale(1 / (3 * sum)))
}

// within reports whether p is inside the ring, by counting crossings.
func within(p vec, ring []vec) bool {
	in := false
	for i, a := range ring {
		b := ring[(i+1)%len(ring)]
		if (a.y > p.y) != (b.y > p.y) && p.x < a.x+float64((b.x-a.x)*((p.y-a.y)/(b.y-a.y))) {
			in = !in
		}
	}
	return in
}
