package city

import (
	"cmp"
	"slices"
)

// network is the street graph: junctions, and links between them that follow
// the bent edges of the mesh. It is connected and no street ends dead. All links
// can be taken both ways; one direction of a link is an arc.
//
// Immutable once built.
type network struct {
	links []link
	pos   []vec     // points of all links, link after link
	along []float64 // by point: metres from its link's start
	out   []int32   // by node: where its arcs start in arcs; one more at the end
	arcs  []arc     // arcs that leave each node, counter-clockwise

	signal []int8 // by node: seconds by which its traffic light is shifted; -1 for none
}

// link is a street between two nodes.
type link struct {
	from, to   int32
	start, end int32 // its points in pos and along
	class      class
	speed      float64 // limit, m/s
}

// arc is a link in one direction: link number * 2, + 1 if from its end to its
// start.
type arc int32

func (a arc) link() int32 { return int32(a >> 1) }
func (a arc) back() bool  { return a&1 == 1 }

// speedLimit by class of street, m/s: 60, 50 and 30 km/h.
var speedLimit = [...]float64{arterial: 16.7, street: 13.9, lane: 8.3}

// newNetwork collects every edge that carries a street, drops dead ends and all parts but the
// largest connected one, and numbers the rest.
func newNetwork(s *survey) *network {
	type road struct {
		a, b   int32
		class  class
		points []vec
	}
	var roads []road
	for e := range int32(len(s.m.class)) {
		c := s.m.class[e]
		if c == lane && s.m.boundary(2*e) {
			c = street // round an enclave
		}
		if c != shore {
			b := s.m.org[2*e+1]
			roads = append(roads, road{s.m.org[2*e], b, c, append(s.appendEdge(nil, 2*e), s.pos[b])})
		}
	}
	for _, b := range s.m.bridges {
		points := []vec{s.pos[b.from]}
		at := s.m.pos[b.from]
		for _, p := range append(slices.Clone(b.via), s.m.pos[b.to]) {
			points = append(points, s.bend(at, p, 60)...)
			points = append(points, s.warp.apply(p))
			at = p
		}
		roads = append(roads, road{b.from, b.to, arterial, points})
	}
	ends := make([][2]int32, len(roads))
	for i, r := range roads {
		ends[i] = [2]int32{r.a, r.b}
	}
	keep := throughRoads(len(s.pos), ends)
	n := &network{}
	number := make([]int32, len(s.pos))
	nodes := int32(0)
	node := func(v int32) int32 {
		if number[v] == 0 {
			nodes++
			number[v] = nodes
		}
		return number[v] - 1
	}
	for i, r := range roads {
		if keep[i] {
			n.addLink(node(r.a), node(r.b), r.class, r.points)
		}
	}
	n.connect(int(nodes))
	n.placeSignals()
	return n
}

// throughRoads reports which edges of a graph are left after dead ends are removed repeatedly, and
// then all but the largest connected part.
func throughRoads(nodes int, ends [][2]int32) []bool {
	at := make([][]int32, nodes)
	degree := make([]int, nodes)
	for i, e := range ends {
		for _, v := range e {
			at[v] = append(at[v], int32(i))
			degree[v]++
		}
	}
	keep := make([]bool, len(ends))
	for i := range keep {
		keep[i] = true
	}
	for v := range at {
		for u := int32(v); degree[u] == 1; {
			i := at[u][slices.IndexFunc(at[u], func(i int32) bool { return keep[i] })]
			keep[i] = false
			degree[ends[i][0]]--
			degree[ends[i][1]]--
			u = ends[i][0] + ends[i][1] - u
		}
	}
	return largestPart(at, ends, keep)
}

// largestPart keeps, of the edges that keep marks, those of the largest connected part.
func largestPart(at [][]int32, ends [][2]int32, keep []bool) []bool {
	var best, part []int32
	seen := make([]bool, len(ends))
	for first := range ends {
		if seen[first] || !keep[first] {
			continue
		}
		part = append(part[:0], int32(first))
		seen[first] = true
		for k := 0; k < len(part); k++ {
			for _, v := range ends[part[k]] {
				for _, i := range at[v] {
					if keep[i] && !seen[i] {
						seen[i] = true
						part = append(part, i)
					}
				}
			}
		}
		if len(part) > len(best) {
			best = slices.Clone(part)
		}
	}
	out := make([]bool, len(ends))
	for _, i := range best {
		out[i] = true
	}
	return out
}

func (n *network) addLink(from, to int32, c class, points []vec) {
	l := link{from: from, to: to, start: int32(len(n.pos)), class: c, speed: speedLimit[c]}
	metres := 0.0
	for i, p := range points {
		if i > 0 {
			metres += p.sub(points[i-1]).len()
		}
		n.pos = append(n.pos, p)
		n.along = append(n.along, metres)
	}
	l.end = int32(len(n.pos))
	n.links = append(n.links, l)
}

// connect lists the arcs that leave each node, sorted by direction.
func (n *network) connect(nodes int) {
	leaving := make([][]arc, nodes)
	for i, l := range n.links {
		leaving[l.from] = append(leaving[l.from], arc(2*i))
		leaving[l.to] = append(leaving[l.to], arc(2*i+1))
	}
	n.out = append(n.out, 0)
	for _, arcs := range leaving {
		slices.SortFunc(arcs, func(a, b arc) int {
			return cmp.Or(cmp.Compare(bearing(n.startDirection(b)), bearing(n.startDirection(a))), cmp.Compare(a, b))
		})
		n.arcs = append(n.arcs, arcs...)
		n.out = append(n.out, int32(len(n.arcs)))
	}
}

// placeSignals puts a traffic light where four streets meet, or three with an
// arterial among them, each with a cycle shifted by its own number of seconds.
func (n *network) placeSignals() {
	n.signal = make([]int8, n.nodes())
	for v := range n.signal {
		arcs := n.leaving(int32(v))
		major, minor := 0, 0
		for _, a := range arcs {
			if n.links[a.link()].class == arterial {
				major++
			}
			if n.links[a.link()].class == lane {
				minor++
			}
		}
		n.signal[v] = -1
		if len(arcs)-minor >= 4 || major > 0 && len(arcs)-minor >= 3 {
			n.signal[v] = int8(mixBits(uint64(v)) % signalCycle)
		}
	}
}

func (n *network) nodes() int { return len(n.out) - 1 }

// leaving are the arcs that start at a node.
func (n *network) leaving(node int32) []arc { return n.arcs[n.out[node]:n.out[node+1]] }

// head is the node where an arc ends.
func (n *network) head(a arc) int32 {
	if a.back() {
		return n.links[a.link()].from
	}
	return n.links[a.link()].to
}

func (n *network) length(a arc) float64 { return n.along[n.links[a.link()].end-1] }

// place is the point at s metres along an arc, and the direction of travel
// there. The hint is the segment where a search for it should begin.
func (n *network) place(a arc, s float64, hint int32) (p, direction vec, segment int32) {
	l := &n.links[a.link()]
	if a.back() {
		s = n.along[l.end-1] - s
	}
	k := l.start + clampInt(hint, 0, l.end-l.start-2)
	for k > l.start && n.along[k] > s {
		k--
	}
	for k < l.end-2 && n.along[k+1] < s {
		k++
	}
	d := n.pos[k+1].sub(n.pos[k])
	p = n.pos[k].add(d.scale(clamp((s-n.along[k])/(n.along[k+1]-n.along[k]), 0, 1)))
	if a.back() {
		d = d.scale(-1)
	}
	return p, d, k - l.start
}

func clampInt(x, lo, hi int32) int32 { return max(lo, min(hi, x)) }

func (n *network) startDirection(a arc) vec {
	l := &n.links[a.link()]
	if a.back() {
		return n.pos[l.end-2].sub(n.pos[l.end-1])
	}
	return n.pos[l.start+1].sub(n.pos[l.start])
}

func (n *network) endDirection(a arc) vec { return n.startDirection(a ^ 1).scale(-1) }
