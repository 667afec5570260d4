package city

import (
	"math/rand/v2"
	"runtime"
	"sync"
)

// routes holds the way from every node to a number of hubs spread over the city: one look-up at a
// junction instead of a search for each trip.
//
// Immutable once built.
type routes struct {
	n    *network
	hubs []int32   // nodes
	next [][]uint8 // by hub, by node: which of the node's arcs leads to the hub soonest
	cost [][]int32 // by hub, by node: tenths of a second to the hub
}

// hubCount is the number of destinations. Vehicles do not go all the way to one
// but end most trips on the road, so a few dozen cover the city.
const hubCount = 72

func newRoutes(n *network, rng *rand.Rand) *routes {
	r := &routes{n: n, hubs: make([]int32, hubCount), next: make([][]uint8, hubCount), cost: make([][]int32, hubCount)}
	for h := range r.hubs {
		r.hubs[h] = r.spread(rng, r.hubs[:h])
	}
	workers := min(runtime.GOMAXPROCS(0), hubCount)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for h := w; h < hubCount; h += workers {
				r.next[h], r.cost[h] = n.waysTo(r.hubs[h])
			}
		})
	}
	wg.Wait()
	return r
}

// spread picks the node that is farthest from the hubs so far, of a few random
// ones (Mitchell's best candidate). Nodes lie denser in the centre, hubs too.
func (r *routes) spread(rng *rand.Rand, hubs []int32) int32 {
	best, most := int32(0), -1.0
	for range 5 {
		v := int32(rng.IntN(r.n.nodes()))
		p := r.n.nodePos(v)
		least := 1e9
		for _, h := range hubs {
			least = min(least, p.sub(r.n.nodePos(h)).len())
		}
		if least > most {
			best, most = v, least
		}
	}
	return best
}

func (n *network) nodePos(v int32) vec {
	a := n.leaving(v)[0]
	l := &n.links[a.link()]
	if a.back() {
		return n.pos[l.end-1]
	}
	return n.pos[l.start]
}

// waysTo is Dijkstra's algorithm from the hub outwards, with a circle of
// buckets for a queue (Dial 1969): costs are small whole numbers.
func (n *network) waysTo(hub int32) (next []uint8, cost []int32) {
	next, cost = make([]uint8, n.nodes()), make([]int32, n.nodes())
	for i := range cost {
		cost[i] = -1
	}
	longest := int32(0)
	for i := range n.links {
		longest = max(longest, n.travelTime(arc(2*i)))
	}
	best := make([]int32, n.nodes()) // tentative cost + 1
	buckets := make([][]int32, longest+1)
	buckets[0] = append(buckets[0], hub)
	best[hub] = 1
	for now, waiting := int32(0), 1; waiting > 0; now++ {
		b := &buckets[now%(longest+1)]
		for k := 0; k < len(*b); k++ {
			waiting--
			v := (*b)[k]
			if cost[v] >= 0 || best[v] != now+1 {
				continue // came here sooner
			}
			cost[v] = now
			for _, a := range n.leaving(v) {
				u, c := n.head(a), now+n.travelTime(a)
				if cost[u] < 0 && (best[u] == 0 || c+1 < best[u]) {
					best[u] = c + 1
					next[u] = n.slot(u, a^1)
					buckets[c%(longest+1)] = append(buckets[c%(longest+1)], u)
					waiting++
				}
			}
		}
		*b = (*b)[:0]
	}
	return next, cost
}

// slot returns the index of an arc among the arcs that leave a node.
func (n *network) slot(v int32, a arc) uint8 {
	for i, b := range n.leaving(v) {
		if b == a {
			return uint8(i)
		}
	}
	panic("city: arc does not leave the node") // the graph would be inconsistent
}

// travelTime is how long an arc takes, in tenths of a second and at least one,
// with a little for the junction at its end.
func (n *network) travelTime(a arc) int32 {
	return int32(float64(n.length(a)/n.links[a.link()].speed)*10) + 20
}
