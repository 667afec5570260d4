package city

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The oddities of real administrative maps, as shares of the districts.
const (
	perEnclave = 90  // one district in so many has a hole that another one fills
	perMerger  = 200 // one in so many lies on both banks of a river
)

// partition divides the land into districts and these into blocks: m.region
// becomes the number of a face's district. It returns the borough of each.
func partition(m *mesh, rng *rand.Rand, districts int) (boroughs []int) {
	var quarters []int32 // the faces between arterials
	for f := range m.first {
		m.alignAxis(int32(f), rng)
		m.region[f] = int32(nearestBorough(centroid(m.ring(int32(f)))))
		quarters = append(quarters, int32(f))
	}
	enclaves, mergers := districts/perEnclave, min(districts/perMerger, len(m.bridges))
	streets := carver{m: m, rng: rng, class: street, l: limits{sine: 0.35, share: 0.3}}
	streets.carve(quarters, districts-1-enclaves/2+mergers) // the reserve is one more
	for f := range m.first {
		boroughs = append(boroughs, int(m.region[f]))
		m.region[f] = int32(f)
	}
	layWindmills(m, rng, enclaves+enclaves/4)
	var faces []int32
	for f := range m.first {
		faces = append(faces, int32(f))
	}
	lanes := carver{m: m, rng: rng, class: lane, l: limits{sine: 0.35, share: 0.3, least: 4000}}
	lanes.carve(faces, len(faces)+2*districts)
	for i, f := range chooseEnclaves(m, rng, enclaves) {
		host := m.region[f]
		if i%2 == 0 { // a district of its own
			m.region[f] = int32(len(boroughs))
			boroughs = append(boroughs, boroughs[host])
		} else { // an outlying part of a neighbour
			m.region[f] = neighbour(m, host)
		}
	}
	return mergeBanks(m, boroughs, mergers)
}

// layWindmills divides some districts by four streets that each end at the
// next one, like the sails of a windmill. The block in the middle touches none
// of the district's outline, and can become an enclave.
func layWindmills(m *mesh, rng *rand.Rand, count int) {
	c := carver{m: m, rng: rng, class: lane}
	for _, f := range rng.Perm(len(m.first)) {
		if count == 0 {
			return
		}
		if compact(m, int32(f)) && c.windmill(int32(f)) {
			count--
		}
	}
}

// compact reports whether a face is about a rectangle, away from the shore.
func compact(m *mesh, f int32) bool {
	for e := range m.loop(m.first[f]) {
		if m.class[e/2] == shore {
			return false
		}
	}
	ring := m.ring(f)
	w, h := extent(ring, m.axis[f]), extent(ring, m.axis[f].left())
	return area(ring) > 0.85*w*h && w < 1.8*h && h < 1.8*w
}

func (c *carver) windmill(f int32) bool {
	ring := c.m.ring(f)
	u, w := c.m.axis[f], c.m.axis[f].left()
	u0, u1 := span(ring, u)
	w0, w1 := span(ring, w)
	at := func(a, b float64) vec {
		return u.scale(lerp(u0, u1, a)).add(w.scale(lerp(w0, w1, b)))
	}
	scale := math.Sqrt(area(ring))
	l := limits{snap: 0.05 * scale, clearance: 0.03 * scale, sine: 0.5, share: 0.1}
	centre := at(0.5, 0.5)
	rest := f // the part that still holds the centre
	for _, sail := range []struct{ p, d vec }{
		{at(0.31, 0.5), w}, {at(0.5, 0.69), u}, {at(0.69, 0.5), w}, {at(0.5, 0.31), u},
	} {
		other, ok := c.chord(rest, sail.p, sail.d, l)
		if !ok {
			return false
		}
		if !within(centre, c.m.ring(rest)) {
			rest = other
		}
	}
	return true
}

// chooseEnclaves finds blocks that touch no district but their own, at most one
// in each district.
func chooseEnclaves(m *mesh, rng *rand.Rand, count int) []int32 {
	var chosen []int32
	taken := map[int32]bool{}
	for _, i := range rng.Perm(len(m.first)) {
		f := int32(i)
		if len(chosen) < count && !taken[m.region[f]] && landlocked(m, f) {
			taken[m.region[f]] = true
			chosen = append(chosen, f)
		}
	}
	slices.Sort(chosen)
	return chosen
}

func landlocked(m *mesh, f int32) bool {
	for e := range m.loop(m.first[f]) {
		for h := range m.around(m.org[e]) {
			if m.face[h] == water || m.region[m.face[h]] != m.region[f] {
				return false
			}
		}
	}
	return true
}

// neighbour is the district with the lowest number of those beside r.
func neighbour(m *mesh, r int32) int32 {
	best := int32(math.MaxInt32)
	for e, f := range m.face {
		if g := m.face[e^1]; f != water && g != water && m.region[f] == r && m.region[g] != r {
			best = min(best, m.region[g])
		}
	}
	return best
}

// mergeBanks joins the districts at both ends of some bridges into one, and
// renumbers the districts without gaps.
func mergeBanks(m *mesh, boroughs []int, count int) []int {
	into := make([]int32, len(boroughs))
	for r := range into {
		into[r] = int32(r)
	}
	bridges := slices.Clone(m.bridges)
	slices.SortStableFunc(bridges, func(a, b crossed) int {
		return cmp.Compare(m.pos[a.from].sub(m.pos[a.to]).len(), m.pos[b.from].sub(m.pos[b.to]).len())
	})
	used := map[int32]bool{}
	for _, b := range bridges {
		from, to := m.coastal(b.from), m.coastal(b.to)
		if count == 0 || from == to || used[from] || used[to] || m.touching(from, to) {
			continue
		}
		used[from], used[to] = true, true
		into[max(from, to)] = min(from, to)
		count--
	}
	var kept []int
	number := make([]int32, len(boroughs))
	for r := range into {
		if into[r] == int32(r) {
			number[r] = int32(len(kept))
			kept = append(kept, boroughs[r])
		}
	}
	for f := range m.region {
		m.region[f] = number[into[m.region[f]]]
	}
	return kept
}

// coastal is the region of the land at a vertex on the shore, or of one of the
// lands there.
func (m *mesh) coastal(v int32) int32 {
	for h := range m.around(v) {
		if m.face[h] != water {
			return m.region[m.face[h]]
		}
	}
	return 0
}

// touching reports whether two districts share a vertex.
func (m *mesh) touching(a, b int32) bool {
	for e, f := range m.face {
		if f == water || m.region[f] != a {
			continue
		}
		for h := range m.around(m.org[e]) {
			if g := m.face[h]; g != water && m.region[g] == b {
				return true
			}
		}
	}
	return false
}
