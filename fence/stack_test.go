package fence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
)

// TestStackedFences puts very many fences upon each other: answers stay right, and no index
// takes memory for every pair of them.
func TestStackedFences(t *testing.T) {
	const n = 500
	rng := rand.New(rand.NewPCG(43, 44))
	var areas []fence.MultiPolygon
	for range n {
		ring := make(fence.Ring, 24)
		x, y, size := -73.9+rng.NormFloat64()/1e4, 40.7+rng.NormFloat64()/1e4, 0.003+rng.Float64()/1e3
		for k := range ring {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(len(ring)))
			ring[k] = fence.Point{Lon: x + size*cos, Lat: y + size*sin}
		}
		areas = append(areas, fence.MultiPolygon{{ring}})
	}
	reference := newSet(t, fence.KindBrute, areas...).Snapshot()
	var points []fence.Point
	for range 60 / slowdown {
		points = append(points, fence.Point{Lon: -73.9 + rng.NormFloat64()/400, Lat: 40.7 + rng.NormFloat64()/400})
		points = append(points, some(rng, hardPoints(rng, areas[rng.IntN(n)]), 2)...)
	}
	for _, kind := range fence.Kinds() {
		s := newSet(t, kind, areas...).Snapshot()
		if got, most := s.Stats().Bytes, int64(400*n*24); got > most {
			t.Errorf("%s takes %d bytes, more than %d", kind, got, most)
		}
		for _, p := range points {
			want := reference.Append(nil, p.Lon, p.Lat)
			if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
				t.Fatalf("%s: %v has %d owners, want %d", kind, p, len(got), len(want))
			}
		}
	}
}
