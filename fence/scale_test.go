package fence_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// scaled moves an area that lies near (-74, 40) to a place, and makes it smaller or larger.
func scaled(mp geometry.MultiPolygon, to geometry.Point, factor float64) geometry.MultiPolygon {
	out := make(geometry.MultiPolygon, len(mp))
	for i, part := range mp {
		for _, ring := range part {
			r := make(geometry.Ring, len(ring))
			for k, p := range ring {
				r[k] = geometry.Point{Lon: to.Lon + (p.Lon+74)*factor, Lat: to.Lat + (p.Lat-40)*factor}
			}
			out[i] = append(out[i], r)
		}
	}
	return out
}

// TestScales compares every kind with the oracle on fences from the size of a grain of sand
// to that of a continent, at points that are hard for float64 and for grids: borders of
// cells lie at whole multiples of powers of two.
func TestScales(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(41, 42))
	run := 0
	for _, factor := range []float64{1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 1, 20} {
		for _, to := range []geometry.Point{{Lon: -74, Lat: 40}, {Lon: 0, Lat: 0}, {Lon: 159, Lat: -70}, {Lon: -180, Lat: -90}} {
			if run++; run%sampling.Slowdown != 0 {
				continue
			}
			var areas []geometry.MultiPolygon
			for _, cell := range tessellation(rng, 6) {
				areas = append(areas, scaled(cell, to, factor))
			}
			for range 6 { // invalid more often than not, and upon each other
				a := randomArea(rng)
				for _, part := range a {
					for _, ring := range part {
						for k, p := range ring {
							ring[k] = geometry.Point{Lon: math.Abs(p.Lon)/30 - 74, Lat: math.Abs(p.Lat)/30 + 40}
						}
					}
				}
				areas = append(areas, scaled(a, to, factor))
			}
			areas = append(areas, areas[3])
			var points []geometry.Point
			for _, a := range areas {
				points = append(points, some(rng, hardPoints(rng, a), 15)...)
			}
			for _, p := range some(rng, points, 100) {
				points = append(points, onGrid(rng, p, factor))
			}
			reference := newSet(t, fence.KindBrute, areas...).Snapshot()
			for _, kind := range fence.Kinds() {
				if kind == fence.KindBrute {
					for _, p := range points[len(points)-50:] {
						checkRefs(t, reference, p)
					}
					continue
				}
				s := newSet(t, kind, areas...).Snapshot()
				for _, p := range points {
					want := reference.Append(nil, p.Lon, p.Lat)
					if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
						t.Fatalf("%s, factor %v at %v: %v has owners %v, want %v", kind, factor, to, p, got, want)
					}
				}
			}
		}
	}
}

// onGrid moves a point to a border of a dyadic grid near it, or one ulp beside that.
func onGrid(rng *rand.Rand, p geometry.Point, size float64) geometry.Point {
	step := math.Exp2(math.Floor(math.Log2(size)) - float64(rng.IntN(6)))
	snap := func(x float64) float64 {
		if rng.IntN(4) == 0 {
			return x
		}
		return ulps(math.Round(x/step)*step, rng.IntN(3)-1)
	}
	return geometry.Point{Lon: snap(p.Lon), Lat: snap(p.Lat)}
}

// A polygon that zigzags between the poles has very many edges across very many cells. The
// index becomes coarser then, instead of taking memory for all of them.
func TestLongEdgesTakeBoundedMemory(t *testing.T) {
	sampling.Sequential(t)
	const teeth, most = 30_000, 256 << 20 // it took 500 MB without the bound
	ring := geometry.Ring{{Lon: -179, Lat: -89}}
	for i := range teeth {
		ring = append(ring, geometry.Point{Lon: -179 + 358*float64(i+1)/(teeth+2), Lat: 88 - float64(i%2*176)})
	}
	ring = append(ring, geometry.Point{Lon: 179, Lat: -89})
	set, err := fence.NewSet("zigzag", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	snap, err := set.Replace(&geojson.Collection{Fences: []fence.Fence{{Geometry: geometry.MultiPolygon{{ring}}}}})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d bytes were allocated, want at most %d", took, most)
	}
	for _, c := range []struct {
		lon, lat float64
		want     int
	}{{0, -88.5, 1}, {0, 88.5, 0}, {-179.5, 0, 0}} {
		if got := snap.Append(nil, c.lon, c.lat); len(got) != c.want {
			t.Errorf("(%v, %v) is in %d fences, want %d", c.lon, c.lat, len(got), c.want)
		}
	}
}
