package geojson

import (
	"cmp"
	"slices"

	"paddock/fence/geometry"
)

// faultKind orders what a sweep can find from harmless to bad.
type faultKind int

const (
	faultNone faultKind = iota
	faultTouch
	faultOverlap
	faultCrossing
)

// fault is a place where rings meet that should not.
type fault struct {
	kind faultKind
	at   geometry.Point
	a, b int // the rings
}

// segment is an edge of a ring from its lesser end to its greater one, by (lon, lat).
type segment struct {
	l, r geometry.Point
	ring int
}

// side is positive if p is above the segment, negative if below, 0 if on its line.
func (s *segment) side(p geometry.Point) int { return geometry.Orient(s.l, s.r, p) }

// sweeper finds crossings in rings that tidy has been over. It is the algorithm of Shamos and
// Hoey (1976) with an exact predicate: a line sweeps eastwards over the vertices, and the
// edges that it meets are kept in their order from south to north, in which the first two to
// cross are neighbours before they do. The order stays right up to there; touching does not
// disturb it. So the sweep ends at the first crossing or overlap, after O(n log n) steps.
//
// It may be used again; it keeps its memory.
type sweeper struct {
	segments []segment
	vertices []sweepVertex
	active   status
	touch    fault
}

// sweepVertex is a vertex with the two edges that meet in it.
type sweepVertex struct {
	p     geometry.Point
	edges [2]int32
}

// compare orders points as the sweep meets them.
func compare(p, q geometry.Point) int {
	if c := cmp.Compare(p.Lon, q.Lon); c != 0 {
		return c
	}
	return cmp.Compare(p.Lat, q.Lat)
}

// run gives the first crossing or overlap; else, if there is one, the first point that two
// vertices share or that is a vertex and inside of an edge.
func (s *sweeper) run(rings []geometry.Ring) fault {
	s.load(rings)
	for i := 0; i < len(s.vertices); {
		j := i + 1
		for j < len(s.vertices) && s.vertices[j].p == s.vertices[i].p {
			j++
		}
		if f := s.step(s.vertices[i:j]); f.kind != faultNone {
			return f
		}
		i = j
	}
	return s.touch
}

func (s *sweeper) load(rings []geometry.Ring) {
	s.segments, s.vertices, s.touch = s.segments[:0], s.vertices[:0], fault{}
	s.active.reset()
	for k, r := range rings {
		first := len(s.segments)
		for i, p := range r {
			q := r[(i+1)%len(r)]
			if compare(q, p) < 0 {
				p, q = q, p
			}
			s.segments = append(s.segments, segment{p, q, k})
		}
		for i, p := range r {
			before := first + (i+len(r)-1)%len(r)
			s.vertices = append(s.vertices, sweepVertex{p, [2]int32{int32(before), int32(first + i)}})
		}
	}
	slices.SortFunc(s.vertices, func(a, b sweepVertex) int { return compare(a.p, b.p) })
}

// step moves the sweep to a point, which is that of all the vertices given.
func (s *sweeper) step(here []sweepVertex) fault {
	p := here[0].p
	if len(here) > 1 {
		s.noteTouch(p, s.segments[here[0].edges[0]].ring, s.segments[here[1].edges[0]].ring)
	}
	at := s.active.search(func(id int32) int { return s.segments[id].side(p) })
	if f := s.leave(at, here); f.kind != faultNone {
		return f
	}
	for _, v := range here {
		for _, id := range v.edges {
			if s.segments[id].l == p {
				if f := s.enter(id); f.kind != faultNone {
					return f
				}
			}
		}
	}
	return fault{}
}

// leave removes the edges that end here. The edges on p begin at the place at; edges on p that do
// not end here touch it. New neighbours are checked.
func (s *sweeper) leave(at place, here []sweepVertex) fault {
	p := here[0].p
	due := 0
	for _, v := range here {
		for _, id := range v.edges {
			if s.segments[id].r == p {
				due++
			}
		}
	}
	before, hasBefore := s.active.before(at)
	for {
		id, ok := s.active.get(&at)
		if !ok {
			break
		}
		seg := &s.segments[id]
		if seg.r == p {
			s.active.remove(at)
			due--
			continue
		}
		if hasBefore {
			if f := s.check(before, id); f.kind != faultNone {
				return f
			}
		}
		if seg.side(p) != 0 {
			break
		}
		s.noteTouch(p, seg.ring, s.segments[here[0].edges[0]].ring)
		before, hasBefore = id, true
		at.i++
	}
	if due != 0 {
		// The order of the edges was wrong, so two of them have crossed.
		ring := s.segments[here[0].edges[0]].ring
		return fault{faultCrossing, p, ring, ring}
	}
	return fault{}
}

// enter puts in an edge that begins here, and checks it with its neighbours.
func (s *sweeper) enter(id int32) fault {
	n := &s.segments[id]
	at := s.active.search(func(id int32) int { return s.above(id, n) })
	next, hasNext := s.active.get(&at)
	if hasNext && s.above(next, n) == 0 {
		return fault{faultOverlap, n.l, s.segments[next].ring, n.ring}
	}
	before, hasBefore := s.active.before(at)
	s.active.insert(at, id)
	if hasBefore {
		if f := s.check(before, id); f.kind != faultNone {
			return f
		}
	}
	if hasNext {
		return s.check(id, next)
	}
	return fault{}
}

// above is positive if n, which begins here, goes on above the active edge.
func (s *sweeper) above(id int32, n *segment) int {
	seg := &s.segments[id]
	if side := seg.side(n.l); side != 0 {
		return side
	}
	return seg.side(n.r)
}

// check reports whether two edges cross in the inside of both.
func (s *sweeper) check(i, j int32) fault {
	a, b := &s.segments[i], &s.segments[j]
	if max(a.l.Lat, a.r.Lat) < min(b.l.Lat, b.r.Lat) {
		return fault{} // the usual case
	}
	if a.side(b.l)*a.side(b.r) >= 0 || b.side(a.l)*b.side(a.r) >= 0 {
		return fault{}
	}
	return fault{faultCrossing, a.meet(b), a.ring, b.ring}
}

// meet is where two edges cross, as near as float64 gets: for people only.
func (s *segment) meet(o *segment) geometry.Point {
	dx, dy := s.r.Lon-s.l.Lon, s.r.Lat-s.l.Lat
	ex, ey := o.r.Lon-o.l.Lon, o.r.Lat-o.l.Lat
	det := float64(dx*ey) - float64(dy*ex)
	t := (float64((o.l.Lon-s.l.Lon)*ey) - float64((o.l.Lat-s.l.Lat)*ex)) / det
	if !(t >= 0 && t <= 1) {
		return s.l
	}
	return geometry.Point{Lon: s.l.Lon + float64(t*dx), Lat: s.l.Lat + float64(t*dy)}
}

func (s *sweeper) noteTouch(p geometry.Point, a, b int) {
	if s.touch.kind == faultNone {
		s.touch = fault{faultTouch, p, a, b}
	}
}
