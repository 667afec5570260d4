package tiles

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

func lineFence(key string, points ...geometry.Point) fence.Fence {
	return fence.Fence{Key: key, Lines: geometry.MultiLine{points}}
}

// TestLinesToTheUnit: a line that leaves the tile and comes back has two pieces, each up to the
// edge of the buffer.
func TestLinesToTheUnit(t *testing.T) {
	f := lineFence("l", geometry.Point{Lon: 22.5, Lat: 0}, geometry.Point{Lon: -22.5, Lat: 0}, geometry.Point{Lon: -22.5, Lat: 0.0001}, geometry.Point{Lon: 45, Lat: 0.0001})
	d := draw(t, snapshot(t, f), NewBoxes(snapshot(t, f)), Tile{1, 1, 0})
	got := d["fences"]
	if len(got) != 1 || !got[0].line || len(got[0].rings) != 2 {
		t.Fatalf("got %v", got)
	}
	out, in := got[0].rings[0], got[0].rings[1]
	if out[0] != (grid{512, 4096}) || out[1] != (grid{-buffer, 4096}) || in[0] != (grid{-buffer, 4096}) || in[1] != (grid{1024, 4096}) {
		t.Errorf("got %v and %v", out, in)
	}
	if west := draw(t, snapshot(t, f), NewBoxes(snapshot(t, f)), Tile{1, 0, 1}); len(west["fences"]) != 1 {
		t.Errorf("beside: %v", west)
	}
}

// TestLinesAreDrawnInTheirPlace: each vertex that is drawn is near the line, and each place of the
// line in the tile is near what is drawn.
func TestLinesAreDrawnInTheirPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		points := []geometry.Point{{Lon: 13.4, Lat: 52.5}}
		for range 300 {
			p := points[len(points)-1]
			points = append(points, geometry.Point{Lon: p.Lon + rng.NormFloat64()*0.002, Lat: p.Lat + rng.NormFloat64()*0.001})
		}
		s := snapshot(t, lineFence("l", points...))
		z := 9 + rng.IntN(8)
		tile := at(z, points[150].Lon, points[150].Lat)
		drawn := draw(t, s, NewBoxes(s), tile)["fences"]
		if len(drawn) != 1 || !drawn[0].line {
			t.Fatalf("zoom %d: %v", z, drawn)
		}
		for i := 1; i < len(points); i++ {
			middle := tile.project(geometry.Point{Lon: (points[i-1].Lon + points[i].Lon) / 2, Lat: (points[i-1].Lat + points[i].Lat) / 2})
			if middle.x < 0 || middle.y < 0 || middle.x > Extent || middle.y > Extent {
				continue
			}
			if off := offLine(drawn[0].rings, middle); off > tolerance+2 {
				t.Fatalf("zoom %d: a place of the line is %v units from what is drawn", z, off)
			}
		}
	}
}

// offLine is the distance of a place from the pieces of a line.
func offLine(pieces [][]grid, v vertex) float64 {
	least := math.Inf(1)
	for _, p := range pieces {
		for i := 1; i < len(p); i++ {
			a, b := vertex{float64(p[i-1].x), float64(p[i-1].y)}, vertex{float64(p[i].x), float64(p[i].y)}
			least = min(least, toSegment2(v, a, b))
		}
	}
	return math.Sqrt(least)
}
