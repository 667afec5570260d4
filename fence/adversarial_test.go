package fence_test

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/city"
	"paddock/internal/sampling"
)

// adversarialPoints is how many points TestAdversarial draws if PADDOCK_POINTS does not say.
const adversarialPoints = 6_000

// TestAdversarial compares every kind with the oracle at points that are as hard as they
// come: on vertices, on and beside edges, level with others, on and beside the borders of
// cells of dyadic grids, in holes and on their rims, at the antimeridian and the poles. The
// sets are the real ones, where they are, the simulated city, and random tessellations, of
// whose points exactly one fence is the owner. `make adversarial` draws ten million;
// without it there are few, and in small sets alone.
func TestAdversarial(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	points, err := strconv.Atoi(os.Getenv("PADDOCK_POINTS"))
	all := err == nil
	if !all {
		points = adversarialPoints / sampling.Slowdown
	}
	arenas := tessellations(t, all)
	if all {
		arenas = append(arenas, cities(t)...)
	}
	for i, a := range arenas {
		t.Run(a.name, func(t *testing.T) { a.compare(t, uint64(i), points/len(arenas)) })
	}
}

// arena is a set in every kind, with what the oracle needs to be quick.
type arena struct {
	name   string
	kinds  map[fence.Kind]*fence.Snapshot
	areas  []geometry.MultiPolygon // by ref
	bands  bands
	within func(p geometry.Point) bool // one fence is the owner here; nil = that is not known
}

func newArena(t *testing.T, name string, areas []geometry.MultiPolygon) *arena {
	a := &arena{name: name, areas: areas, kinds: map[fence.Kind]*fence.Snapshot{}, bands: newBands(areas)}
	for _, kind := range fence.Kinds() {
		a.kinds[kind] = newSet(t, kind, areas...).Snapshot()
	}
	return a
}

// cities are the real sets, where they are, and the simulated ones.
func cities(t *testing.T) (all []*arena) {
	if _, err := os.Stat(cityDir); err == nil {
		for set := range loadCity(t, fence.KindBrute).All() {
			var areas []geometry.MultiPolygon
			for _, f := range set.Snapshot().All() {
				areas = append(areas, f.Geometry)
			}
			if len(areas) > 0 {
				all = append(all, newArena(t, set.Name(), areas))
			}
		}
	}
	for _, set := range city.New(city.Config{Seed: 7}).Sets() {
		var areas []geometry.MultiPolygon
		for i := range set.Fences {
			areas = append(areas, set.Fences[i].Geometry)
		}
		all = append(all, newArena(t, "simulated city: "+set.Name, areas))
	}
	return all
}

// tessellations are where exactly one fence owns each point; large ones, or small ones.
func tessellations(t *testing.T, large bool) (all []*arena) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, where := range []struct {
		name   string
		to     geometry.Point
		factor float64
		n      int
	}{
		{"streets", geometry.Point{Lon: -74, Lat: 40}, 1, 40},
		{"grains", geometry.Point{Lon: 0, Lat: 0}, 1e-8, 20},
		{"poles and antimeridian", geometry.Point{Lon: -180, Lat: -90}, 180, 24},
		{"up to the antimeridian", geometry.Point{Lon: 178, Lat: 10}, 2, 24},
	} {
		if !large {
			where.n /= 4
		}
		var areas []geometry.MultiPolygon
		for _, cell := range tessellation(rng, where.n) {
			areas = append(areas, scaled(cell, where.to, where.factor))
		}
		a := newArena(t, where.name, areas)
		west, south := where.to.Lon, where.to.Lat
		east, north := west+where.factor, south+where.factor
		a.within = func(p geometry.Point) bool {
			if p.Lon == 180 {
				p.Lon = -180
			}
			return p.Lon >= west && p.Lon < east && p.Lat >= south && p.Lat < north
		}
		all = append(all, a)
	}
	return all
}

// compare draws n points. Kinds that look at every fence are asked about fewer of them
// where these have many edges.
func (a *arena) compare(t *testing.T, seed uint64, n int) {
	var workers sync.WaitGroup
	var drawn, slow atomic.Int64
	many := a.kinds[fence.KindBrute].Stats().Edges > 10_000
	for w := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(53+seed, uint64(w)))
			var got, want []fence.Ref
			parity := make([]uint64, (a.bands.parts+63)/64)
			for drawn.Load() < int64(n) && !t.Failed() {
				for _, p := range a.draw(rng) {
					i := drawn.Add(1)
					want = a.bands.holders(want[:0], p, parity)
					if a.within != nil && (len(want) == 1) != a.within(p) {
						t.Errorf("%v has owners %v by the oracle", p, want)
						return
					}
					for kind, s := range a.kinds {
						if many && i%64 != 0 && linear(kind) {
							continue
						}
						if linear(kind) {
							slow.Add(1)
						}
						if got = s.Append(got[:0], p.Lon, p.Lat); !slices.Equal(got, want) {
							t.Errorf("%s: %v has owners %v, want %v", kind, p, got, want)
							return
						}
					}
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d points in %d fences, %d look-ups of them by linear kinds", drawn.Load(), len(a.areas), slow.Load())
}

// linear reports whether a kind looks at every fence, or nearly.
func linear(k fence.Kind) bool {
	return k == fence.KindBrute || k == fence.KindBBox || k == fence.KindCity || k == fence.KindCityBBox
}

// draw gives some points around one ring of one fence.
func (a *arena) draw(rng *rand.Rand) []geometry.Point {
	area := a.areas[rng.IntN(len(a.areas))]
	part := area[rng.IntN(len(area))]
	ring := part[rng.IntN(len(part))]
	i := rng.IntN(len(ring))
	v, w, other := ring[i], ring[(i+1)%len(ring)], ring[rng.IntN(len(ring))]
	s := rng.Float64()
	mid := geometry.Point{Lon: (v.Lon + w.Lon) / 2, Lat: (v.Lat + w.Lat) / 2}
	at := []geometry.Point{
		v, mid,
		{Lon: v.Lon + s*(w.Lon-v.Lon), Lat: v.Lat + s*(w.Lat-v.Lat)},
		{Lon: v.Lon, Lat: other.Lat},
		{Lon: other.Lon, Lat: v.Lat},
		{Lon: (v.Lon + other.Lon) / 2, Lat: (v.Lat + other.Lat) / 2}, // within, if the ring is convex: of a hole too
		onGrid(rng, v, math.Exp2(-float64(rng.IntN(24)))),
		onGrid(rng, mid, math.Exp2(-float64(rng.IntN(24)))),
		{Lon: math.Copysign(180, v.Lon), Lat: v.Lat},
		{Lon: v.Lon, Lat: math.Copysign(90, v.Lat)},
	}
	for _, p := range at {
		at = append(
			at,
			geometry.Point{Lon: ulps(p.Lon, 1-2*rng.IntN(2)), Lat: p.Lat},
			geometry.Point{Lon: p.Lon, Lat: ulps(p.Lat, 1-2*rng.IntN(2))},
			geometry.Point{Lon: ulps(p.Lon, rng.IntN(9)-4), Lat: ulps(p.Lat, rng.IntN(9)-4)},
		)
	}
	return at
}

// bands finds the edges that are level with a point. It only leaves out edges by comparing
// their own coordinates, which is exact.
type bands struct {
	south, north float64
	rows         [][]bandEdge
	owner        []fence.Ref // of the parts
	parts        int
}

type bandEdge struct {
	a, b geometry.Point
	part int
}

func newBands(areas []geometry.MultiPolygon) bands {
	b := bands{south: math.Inf(1), north: math.Inf(-1)}
	var edges []bandEdge
	for ref, area := range areas {
		for _, part := range area {
			for _, ring := range part {
				for i, v := range ring {
					edges = append(edges, bandEdge{v, ring[(i+1)%len(ring)], b.parts})
					b.south, b.north = min(b.south, v.Lat), max(b.north, v.Lat)
				}
			}
			b.owner = append(b.owner, fence.Ref(ref))
			b.parts++
		}
	}
	b.rows = make([][]bandEdge, 1+len(edges)/32)
	for _, e := range edges {
		for row := b.row(min(e.a.Lat, e.b.Lat)); row <= b.row(max(e.a.Lat, e.b.Lat)); row++ {
			b.rows[row] = append(b.rows[row], e)
		}
	}
	return b
}

// row is monotone in lat.
func (b *bands) row(lat float64) int {
	r := int((lat - b.south) / (b.north - b.south) * float64(len(b.rows)))
	return min(max(r, 0), len(b.rows)-1)
}

// holders is what oracleHolds says of every fence. parity is zero, and so again afterwards.
func (b *bands) holders(dst []fence.Ref, p geometry.Point, parity []uint64) []fence.Ref {
	if math.IsNaN(p.Lon-p.Lon) || math.IsNaN(p.Lat-p.Lat) {
		return dst
	}
	if p.Lon == 180 {
		p.Lon = -180
	}
	row := b.rows[b.row(p.Lat)]
	for i := range row {
		if eastOf(row[i].a, row[i].b, p) {
			parity[row[i].part/64] ^= 1 << (row[i].part % 64)
		}
	}
	for i := range row {
		part := row[i].part
		if parity[part/64]>>(part%64)&1 == 1 {
			parity[part/64] ^= 1 << (part % 64)
			dst = append(dst, b.owner[part])
		}
	}
	slices.Sort(dst)
	return slices.Compact(dst)
}
