package fence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// TestStackedFences puts very many fences upon each other: answers stay right, and no index
// takes memory for every pair of them.
func TestStackedFences(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	const n = 500
	rng := rand.New(rand.NewPCG(43, 44))
	var areas []geometry.MultiPolygon
	for range n {
		ring := make(geometry.Ring, 24)
		x, y, size := -73.9+rng.NormFloat64()/1e4, 40.7+rng.NormFloat64()/1e4, 0.003+rng.Float64()/1e3
		for k := range ring {
			sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(len(ring)))
			ring[k] = geometry.Point{Lon: x + size*cos, Lat: y + size*sin}
		}
		areas = append(areas, geometry.MultiPolygon{{ring}})
	}
	reference := newSet(t, fence.KindBrute, areas...).Snapshot()
	var points []geometry.Point
	for range 60 / sampling.Slowdown {
		points = append(points, geometry.Point{Lon: -73.9 + rng.NormFloat64()/400, Lat: 40.7 + rng.NormFloat64()/400})
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

// Fences that lie upon each other, with edges that cross each other everywhere, take an
// index memory by their edges, not by their crossings.
func TestStars(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(61, 62))
	var stars []geometry.MultiPolygon
	for range 400 / sampling.Slowdown {
		var r geometry.Ring
		lon, lat := rng.Float64()/2, rng.Float64()/2
		for k := range 300 {
			sin, cos := math.Sincos(float64(k) / 300 * 2 * math.Pi)
			d := 0.05 + 0.05*rng.Float64()
			r = append(r, geometry.Point{Lon: lon + d*cos, Lat: lat + d*sin})
		}
		stars = append(stars, geometry.MultiPolygon{{r}})
	}
	s, reference := newSet(t, fence.KindCellmap, stars...).Snapshot(), newSet(t, fence.KindBBox, stars...).Snapshot()
	if stats := s.Stats(); stats.Bytes > 200*int64(stats.Edges) {
		t.Errorf("%d bytes for %d edges", stats.Bytes, stats.Edges)
	}
	for range 500 {
		lon, lat := rng.Float64()*0.7-0.1, rng.Float64()*0.7-0.1
		if got, want := s.Append(nil, lon, lat), reference.Append(nil, lon, lat); !slices.Equal(got, want) {
			t.Fatalf("%v, %v has owners %v, want %v", lon, lat, got, want)
		}
	}
}
