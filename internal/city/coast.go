package city

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// coast is the outline of all land before streets are laid out. Rings run
// counter-clockwise and lie outside one another.
type coast struct {
	lands   [][]vec // landmasses that carry districts and streets, largest first
	islets  [][]vec // skerries, each to be a part of the nearest coastal district
	reserve []vec   // the nature reserve's island, one fence of more than 10,000 vertices
}

const (
	minLand         = 1.5e6 // m²: below, an island is an islet
	minIslet        = 4e3   // m²: below, it is a rock that no map shows
	reserveVertices = 10500 // at least: edges are halved until the ring has so many
	coastStep       = 27    // metres between samples along the shore
	reserveStep     = 6
)

// terrain is the lie of the land: which places are above water. Its parts are
// placed by hand, jittered by the seed, and roughened with noise.
type terrain struct {
	rough, meander noise
	lands          []ellipse
	river, creek   []vec
	bay            [2]vec
	reserve        ellipse
}

type ellipse struct {
	at     vec
	rx, ry float64
}

// depth is roughly the distance from the ellipse's rim, positive inside.
func (e ellipse) depth(p vec) float64 {
	d := p.sub(e.at)
	n := vec{d.x / e.rx, d.y / e.ry}.len()
	return float64((1 - n) * min(e.rx, e.ry))
}

func newTerrain(seed uint64) *terrain {
	rng := stream(seed, "terrain")
	near := func(x, y, spread float64) vec {
		return vec{x + jitter(rng, spread), y + jitter(rng, spread)}
	}
	t := &terrain{
		rough: noise{rng.Uint64()}, meander: noise{rng.Uint64()},
		lands: []ellipse{
			{near(700, 1400, 300), 13200 + jitter(rng, 600), 8800 + jitter(rng, 500)},
			{near(5200, -11000, 300), 4700 + jitter(rng, 300), 2500 + jitter(rng, 200)},
		},
		bay: [2]vec{near(-1500, -1500, 150), near(-4300, -10500, 600)},
		river: []vec{
			near(-1500, -1500, 100), near(-700, 700, 200), near(-2300, 2900, 300), near(-600, 5000, 300),
			near(1300, 6500, 300), near(700, 8600, 300), near(2400, 11500, 500),
			{2600, 14500},
		},
		creek:   []vec{near(15500, -2600, 400), near(11000, -800, 300), near(8000, 900, 300), near(6300, 3000, 200)},
		reserve: ellipse{near(-11000, -10800, 250), 3300, 1900},
	}
	t.river, t.creek = smooth(smooth(t.river)), smooth(smooth(t.creek))
	for range 26 { // skerries: most are swallowed by the land, a dozen stay at sea
		at := vec{jitter(rng, 15500), jitter(rng, 12500)}
		r := 110 + float64(rng.Float64()*260)
		t.lands = append(t.lands, ellipse{at, r * 1.25, r})
	}
	return t
}

// height is positive on land. It is a distance only near the shore.
func (t *terrain) height(p vec) float64 {
	const reach = 2600 // farther outside of its rim an ellipse makes no land, whatever the noise
	h := math.Inf(-1)
	for i, e := range t.lands {
		d := e.depth(p)
		if d < h || d < -reach {
			continue
		}
		if i < 2 {
			d += float64(2500*t.rough.fractal(p, 7600, 3)) + float64(420*t.rough.fractal(p.add(vec{3e4, 0}), 1300, 5))
		} else {
			d += float64(150 * t.rough.fractal(p, 600, 4))
		}
		h = max(h, d)
	}
	if h <= 0 {
		return max(h, -reach) - 1
	}
	return min(h, t.shoreOfWaters(p), t.reserve.depth(p)*-1-2200)
}

// shoreOfWaters is the distance from the bay, the river and the creek.
func (t *terrain) shoreOfWaters(p vec) float64 {
	q := vec{
		p.x + float64(420*t.meander.fractal(p, 2300, 4)),
		p.y + float64(420*t.meander.fractal(p.add(vec{9e4, 5e4}), 2300, 4)),
	}
	d, s := segmentDistance(q, t.bay[0], t.bay[1])
	shore := d - lerp(430, 2500, s)
	shore = min(shore, channel(q, t.river, 190, 105))
	return min(shore, channel(q, t.creek, 330, 55))
}

// smooth cuts the corners of an open or closed path (Chaikin 1974). The ends of
// an open one stay.
func smooth(path []vec) []vec {
	closed := path[0] == path[len(path)-1]
	out := make([]vec, 0, 2*len(path))
	if !closed {
		out = append(out, path[0])
	}
	for i := range len(path) - 1 {
		out = append(out, mix(path[i], path[i+1], 0.25), mix(path[i], path[i+1], 0.75))
	}
	if closed {
		return append(out, out[0])
	}
	return append(out, path[len(path)-1])
}

// channel is the distance from the banks of a water that runs along line, with
// the half widths given at its two ends.
func channel(p vec, line []vec, from, to float64) float64 {
	shore := math.Inf(1)
	for i := range len(line) - 1 {
		d, s := segmentDistance(p, line[i], line[i+1])
		shore = min(shore, d-lerp(from, to, (float64(i)+s)/float64(len(line)-1)))
	}
	return shore
}

func newCoast(seed uint64) coast {
	t := newTerrain(seed)
	var c coast
	rings := sample(vec{-17500, -15500}, vec{17500, 13500}, coastStep, t.height).contours()
	slices.SortStableFunc(rings, func(a, b []vec) int { return cmp.Compare(area(b), area(a)) })
	for _, r := range rings {
		a := area(r)
		inside := func(outer []vec) bool { return within(r[0], outer) }
		switch {
		case a < minIslet || slices.ContainsFunc(c.lands, inside): // lakes run clockwise: negative
		case a >= minLand:
			c.lands = append(c.lands, r)
		default:
			c.islets = append(c.islets, r)
		}
	}
	c.reserve = t.reserveShore()
	return c
}

// reserveShore is the outline of the reserve's island: a rugged shore of many
// small coves, sampled finely.
func (t *terrain) reserveShore() []vec {
	e := t.reserve
	rugged := noise{t.rough.seed ^ 0x5ca1ab1e}
	height := func(p vec) float64 {
		d := e.depth(p)
		if math.Abs(d) > 1100 {
			return d
		}
		return d + float64(700*rugged.fractal(p, 2600, 3)) + float64(560*rugged.fractal(p.add(vec{3e4, 0}), 800, 7))
	}
	span := vec{e.rx + 1900, e.ry + 1400}
	var shore []vec
	for _, r := range sample(e.at.sub(span), e.at.add(span), reserveStep, height).contours() {
		if area(r) > max(0, area(shore)) {
			shore = r
		}
	}
	for len(shore) < reserveVertices {
		shore = halveEdges(shore)
	}
	return shore
}

// halveEdges inserts the midpoint of every edge.
func halveEdges(ring []vec) []vec {
	out := make([]vec, 0, 2*len(ring))
	for i, p := range ring {
		out = append(out, p, mix(p, ring[(i+1)%len(ring)], 0.5))
	}
	return out
}

// stream is a source of random numbers for one purpose. Each part of the city
// draws from its own, so that a change in one part leaves the others alone.
func stream(seed uint64, purpose string) *rand.Rand {
	var h uint64 = 14695981039346656037 // FNV-1a
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// jitter draws evenly from (-spread, spread).
func jitter(rng *rand.Rand, spread float64) float64 {
	return float64(lerp(-1, 1, rng.Float64()) * spread)
}
