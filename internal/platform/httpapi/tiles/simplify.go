package tiles

import "math"

// maxLooks bounds the looks at the vertices of a ring, in looks at each. Few rings need more than
// 20, but one with very many long teeth would need half the square of their number.
const maxLooks = 64

// simplifier removes vertices that are hardly visible. It reuses its memory from ring to ring.
type simplifier struct {
	keep  []bool
	stack [][2]int
	left  int // looks
}

// simplify removes vertices of a ring that are within the tolerance of the line between the
// remaining ones (Douglas and Peucker). It begins at the westernmost vertex, wherever the ring
// begins, so that neighbours simplify most of their shared borders alike. After maxLooks looks at
// each vertex it removes no more. It works in place.
func (s *simplifier) simplify(ring []vertex, tolerance float64) []vertex {
	n := len(ring)
	if n <= 4 || tolerance <= 0 {
		return ring
	}
	first := 0
	for i, v := range ring {
		if w := ring[first]; v.x < w.x || (v.x == w.x && v.y < w.y) {
			first = i
		}
	}
	far := first
	for i, v := range ring {
		if distance2(v, ring[first]) > distance2(ring[far], ring[first]) {
			far = i
		}
	}
	if far == first {
		return ring[:1]
	}
	s.keep = append(s.keep[:0], make([]bool, n)...)
	s.keep[first], s.keep[far] = true, true
	s.left = maxLooks * n
	half := (far - first + n) % n
	s.chain(ring, first, first+half, tolerance)
	s.chain(ring, first+half, first+n, tolerance)
	kept := ring[:0]
	for i, v := range ring {
		if s.keep[i] {
			kept = append(kept, v)
		}
	}
	return kept
}

// chain marks the vertices that remain between two remaining ones. Its indices continue beyond the
// end of the ring at its beginning.
func (s *simplifier) chain(ring []vertex, from, to int, tolerance float64) {
	n := len(ring)
	s.stack = append(s.stack[:0], [2]int{from, to})
	for len(s.stack) > 0 {
		from, to := s.stack[len(s.stack)-1][0], s.stack[len(s.stack)-1][1]
		s.stack = s.stack[:len(s.stack)-1]
		if s.left -= to - from; s.left < 0 {
			for i := from + 1; i < to; i++ {
				s.keep[i%n] = true
			}
			continue
		}
		worst, at := tolerance*tolerance, 0
		for i := from + 1; i < to; i++ {
			if d := toSegment2(ring[i%n], ring[from%n], ring[to%n]); d > worst {
				worst, at = d, i
			}
		}
		if at > 0 {
			s.keep[at%n] = true
			s.stack = append(s.stack, [2]int{from, at}, [2]int{at, to})
		}
	}
}

func distance2(a, b vertex) float64 { return (a.x-b.x)*(a.x-b.x) + (a.y-b.y)*(a.y-b.y) }

// toSegment2 returns the square of the distance of v from the segment a-b.
func toSegment2(v, a, b vertex) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	if dx == 0 && dy == 0 {
		return distance2(v, a)
	}
	along := math.Max(0, math.Min(1, ((v.x-a.x)*dx+(v.y-a.y)*dy)/(dx*dx+dy*dy)))
	return distance2(v, vertex{a.x + along*dx, a.y + along*dy})
}
