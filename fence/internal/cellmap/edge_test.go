package cellmap

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// TestMergeIsBounded: coordinates that are chosen so that all edges look the same to the table
// leave the edges apart, and cause no search through all of them. Answers do not depend on it.
func TestMergeIsBounded(t *testing.T) {
	const edges = 4 * mergeProbes
	ulp := math.Ldexp(1, -50)
	// Triangles whose long edges go from one unit to another, each on another place.
	area := func(i int) geometry.MultiPolygon {
		x := float64(i) * ulp
		return geometry.MultiPolygon{{{{Lon: x, Lat: 0}, {Lon: 1 + x, Lat: 1}, {Lon: float64(i%7) + 2, Lat: 0.25}}}}
	}
	var areas []geometry.MultiPolygon
	var entries []*index.Entry
	add := func(i int) {
		areas = append(areas, area(i))
		entries = append(entries, index.NewEntry(geojson.Ref(len(entries)), &geojson.Fence{Geometry: area(i)}, nil))
	}
	for i := range edges {
		add(i)
	}
	for i := range edges {
		add(i)
	}
	b := &cellBuilder{split: splitEdges, workers: 2}
	b.gather(entries)
	for _, r := range b.rings {
		for i := range r.vertices {
			b.edges = append(b.edges, r.edge(i))
		}
	}
	b.merge(b.edges, make([]uint32, mergeRoom(len(b.edges))))
	for i := range edges {
		again := b.edges[3*(edges+i)+1] // the second fence's edge on the place of the first's
		if again.dead() && i >= mergeProbes || !again.dead() && i < mergeProbes/2 {
			t.Errorf("edge %d of one hash is merged: %v", i, again.dead())
		}
	}
	rng := rand.New(rand.NewPCG(85, 86))
	var points []geometry.Point
	for range 500 {
		s := rng.Float64()
		points = append(points, geometry.Point{Lon: s + float64(rng.IntN(2*edges))*ulp, Lat: s}, geometry.Point{Lon: 4 * rng.Float64(), Lat: rng.Float64()})
	}
	checkCellmap(t, cellmapOf(geometry.HalfOpen, areas...), areas, points)
}
