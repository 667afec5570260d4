package fence

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMergeIsBounded: whoever chooses coordinates so that all edges look the same to the table
// gets edges that stay apart, not a search through all of them. Answers do not depend on it.
func TestMergeIsBounded(t *testing.T) {
	const edges = 4 * mergeProbes
	ulp := math.Ldexp(1, -50)
	// Triangles whose long edges go from one unit to another, each on another place.
	area := func(i int) MultiPolygon {
		x := float64(i) * ulp
		return MultiPolygon{{{{x, 0}, {1 + x, 1}, {float64(i%7) + 2, 0.25}}}}
	}
	var areas []MultiPolygon
	var entries []*entry
	add := func(i int) {
		areas = append(areas, area(i))
		entries = append(entries, newEntry(Ref(len(entries)), &Fence{Geometry: area(i)}, nil))
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
	var points []Point
	for range 500 {
		s := rng.Float64()
		points = append(points, Point{s + float64(rng.IntN(2*edges))*ulp, s}, Point{4 * rng.Float64(), rng.Float64()})
	}
	checkCellmap(t, cellmapOf(halfOpen, areas...), areas, points)
}
