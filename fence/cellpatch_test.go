package fence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
)

// crookedGrid gives n x n quadrangles that share their vertices.
func crookedGrid(rng *rand.Rand, n int) (areas []geometry.MultiPolygon) {
	vertices := make([][]geometry.Point, n+1)
	for y := range vertices {
		for x := range n + 1 {
			vertices[y] = append(vertices[y], geometry.Point{Lon: -74 + (float64(x)+rng.Float64()/2)/float64(n), Lat: 40 + (float64(y)+rng.Float64()/2)/float64(n)})
		}
	}
	for y := range n {
		for x := range n {
			areas = append(areas, geometry.MultiPolygon{{{vertices[y][x], vertices[y][x+1], vertices[y+1][x+1], vertices[y+1][x]}}})
		}
	}
	return areas
}

// patchedSet is a cellmap of areas whose keys are their numbers.
func patchedSet(t *testing.T, b geometry.Boundary, areas []geometry.MultiPolygon) (*Set, *cellmap.Writer) {
	t.Helper()
	s, err := NewSet("patched", Options{Kind: KindCellmap, Boundary: b})
	if err != nil {
		t.Fatal(err)
	}
	c := &geojson.Collection{}
	for _, a := range areas {
		c.Fences = append(c.Fences, Fence{Geometry: a})
	}
	if _, err := s.Replace(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Settle)
	return s, cellWriterOf(s.writer)
}

func putFence(t *testing.T, s *Set, key string, a geometry.MultiPolygon) {
	t.Helper()
	if _, _, err := s.Put(Fence{Key: key, Geometry: a}); err != nil {
		t.Fatal(err)
	}
}

// checkPatched compares a snapshot's answers with those of the geometries themselves.
func checkPatched(t *testing.T, s *Snapshot, r geometry.Rule, points []geometry.Point) {
	t.Helper()
	var b Batch
	var lon, lat []float64
	for _, p := range points {
		lon, lat = append(lon, p.Lon), append(lat, p.Lat)
	}
	s.AppendBatch(&b, lon, lat)
	for i, p := range points {
		var want []Ref
		for ref, f := range s.All() {
			if f.Geometry.Decide(r, p) {
				want = append(want, ref)
			}
		}
		if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) || !slices.Equal(b.Answer(i), want) {
			t.Fatalf("rule %d, generation %d, %v: %v, in a batch %v, want %v", r, s.Generation(), p, got, b.Answer(i), want)
		}
	}
}

// hardSpots gives points in and around a fence that are hard for cells: vertices, middles of
// edges, points a float beside them, and corners of the grid's cells.
func hardSpots(rng *rand.Rand, m *cellmap.Map, mp geometry.MultiPolygon, n int) (points []geometry.Point) {
	bounds := mp.Bounds()
	for range n {
		ring := mp[rng.IntN(len(mp))][0]
		i := rng.IntN(len(ring))
		a, b := ring[i], ring[(i+1)%len(ring)]
		middle := geometry.Point{Lon: (a.Lon + b.Lon) / 2, Lat: (a.Lat + b.Lat) / 2}
		any := geometry.Point{
			Lon: bounds.MinLon + rng.Float64()*(bounds.MaxLon-bounds.MinLon),
			Lat: bounds.MinLat + rng.Float64()*(bounds.MaxLat-bounds.MinLat),
		}
		shift := m.Shift - uint(rng.IntN(int(min(m.Shift, 4))))
		corner := geometry.Point{Lon: cellmap.ToDegrees(int64(cellmap.ToUnits(any.Lon)) >> shift << shift), Lat: cellmap.ToDegrees(int64(cellmap.ToUnits(any.Lat)) >> shift << shift)}
		points = append(points, a, middle, any, corner,
			geometry.Point{Lon: math.Nextafter(a.Lon, 0), Lat: a.Lat}, geometry.Point{Lon: middle.Lon, Lat: math.Nextafter(middle.Lat, 90)})
	}
	return points
}

// randomChange gives an area in the grid of a crooked one: like one that is there, moved to lie
// on a neighbour's edges, of several parts with a hole, or with very many edges.
func randomChange(rng *rand.Rand, areas []geometry.MultiPolygon) geometry.MultiPolygon {
	like := areas[rng.IntN(len(areas))]
	ring := slices.Clone(like[0][0])
	c := geometry.Point{Lon: (ring[0].Lon + ring[2].Lon) / 2, Lat: (ring[0].Lat + ring[2].Lat) / 2}
	switch rng.IntN(6) {
	case 0:
		return like
	case 1:
		ring[rng.IntN(4)] = c
		return geometry.MultiPolygon{{ring}}
	case 2: // the middle of each edge is another vertex
		var r geometry.Ring
		for i, a := range ring {
			b := ring[(i+1)%4]
			r = append(r, a, geometry.Point{Lon: (a.Lon + b.Lon) / 2, Lat: (a.Lat + b.Lat) / 2})
		}
		return geometry.MultiPolygon{{r}}
	case 3:
		hole := geometry.Ring{{Lon: c.Lon, Lat: c.Lat}, {Lon: c.Lon + 0.01, Lat: c.Lat}, {Lon: c.Lon, Lat: c.Lat + 0.01}}
		return geometry.MultiPolygon{{ring, hole}, areas[rng.IntN(len(areas))][0], {{c, ring[0], ring[1]}}}
	case 4:
		return geometry.MultiPolygon{{star(rng, c, 3+rng.IntN(30))[:4]}}
	}
	var r geometry.Ring
	for i := range 60 {
		turn, far := 2*math.Pi*float64(i)/60, 0.02+0.02*rng.Float64()
		r = append(r, geometry.Point{Lon: c.Lon + far*math.Cos(turn), Lat: c.Lat + far*math.Sin(turn)})
	}
	return geometry.MultiPolygon{{r}}
}

// TestPatchesEqualBuilds adds, replaces and deletes fences in any order. Under each boundary rule,
// the patched cells answer like cells that are built from the remaining fences.
func TestPatchesEqualBuilds(t *testing.T) {
	t.Parallel()
	for _, b := range []geometry.Boundary{geometry.BoundaryHalfOpen, geometry.BoundaryClosed, geometry.BoundaryOpen} {
		t.Run(string(b), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(91, 92))
			areas := crookedGrid(rng, 10)
			s, w := patchedSet(t, b, areas)
			before := s.Snapshot()
			was := hardSpots(rng, w.Base, areas[0], 5)
			for i := range 240 {
				key := fmt.Sprint(rng.IntN(120)) // some are new
				next := randomChange(rng, areas)
				if f := s.Snapshot(); rng.IntN(4) == 0 {
					if ref, ok := f.Lookup(key); ok {
						next = f.Fence(ref).Geometry
					}
					s.Delete(key)
				} else {
					putFence(t, s, key, next)
				}
				checkPatched(t, s.Snapshot(), w.Rule, hardSpots(rng, w.Base, next, 2))
				if i%40 == 39 {
					var spots []geometry.Point
					for _, f := range s.Snapshot().All() {
						spots = append(spots, hardSpots(rng, w.Base, f.Geometry, 1)...)
					}
					checkPatched(t, s.Snapshot(), w.Rule, spots)
				}
			}
			checkPatched(t, before, w.Rule, was)
			if n := w.Patch.Tiles; n == 0 || len(w.InOver) > 60 {
				t.Errorf("%d tiles, %d fences beside the cells: cells have not been tested", n, len(w.InOver))
			}
		})
	}
}

// TestWhatCellsCannotTake: fences that leave the grid, or have too many edges or cells, are kept
// beside the cells, and cells do not count for what they were before.
func TestWhatCellsCannotTake(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(93, 94))
	areas := crookedGrid(rng, 28) // so many that it is not outgrown
	s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas)
	many := make(geometry.Ring, cellmap.PatchEdges+1)
	for i := range many {
		turn := 2 * math.Pi * float64(i) / float64(len(many))
		many[i] = geometry.Point{Lon: -73.5 + 0.1*math.Cos(turn), Lat: 40.5 + 0.1*math.Sin(turn)}
	}
	beyond := geometry.MultiPolygon{{{{Lon: -75, Lat: 39}, {Lon: -73.4, Lat: 40.5}, {Lon: -74, Lat: 42}}}}
	for i, a := range []geometry.MultiPolygon{beyond, {{many}}} {
		key := fmt.Sprint(i)
		putFence(t, s, key, a)
		if _, ok := w.InOver[Ref(i)]; !ok {
			t.Fatalf("%d is in cells", i)
		}
		spots := append(hardSpots(rng, w.Base, a, 5), hardSpots(rng, w.Base, areas[i], 5)...)
		checkPatched(t, s.Snapshot(), w.Rule, spots)
		for k := range 10 { // cells around it are made anew meanwhile
			putFence(t, s, fmt.Sprint(400+k), randomChange(rng, areas))
			checkPatched(t, s.Snapshot(), w.Rule, spots)
		}
		putFence(t, s, key, areas[i])
		checkPatched(t, s.Snapshot(), w.Rule, spots)
		s.Delete(key)
		checkPatched(t, s.Snapshot(), w.Rule, spots)
	}
	if _, ok := w.InOver[0]; ok || !slices.Equal(w.Apart[:2], []Ref{0, 1}) {
		t.Errorf("%v are apart", w.Apart)
	}
}

// TestEditsLeaveNothingBehind: a long run of edits needs no other memory than a short one, and
// what no snapshot has is let go.
func TestEditsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(95, 96))
	areas := crookedGrid(rng, 12)
	s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas)
	moved := func(i int) {
		a := geometry.MultiPolygon{{slices.Clone(areas[i][0][0])}}
		a[0][0][0].Lon += rng.Float64() * 1e-3 // it stays in the grid
		putFence(t, s, fmt.Sprint(i), a)
	}
	for i := range areas {
		moved(i)
	}
	bytes := s.Snapshot().Stats().Bytes
	var old []weak.Pointer[cellmap.Map]
	for _, page := range w.Patch.Pages {
		for _, tile := range page {
			if tile != nil {
				old = append(old, weak.Make(tile))
			}
		}
	}
	for range 10 {
		for i := range areas {
			moved(i)
		}
		if now := s.Snapshot().Stats().Bytes; now > bytes+bytes/4 {
			t.Fatalf("%d bytes became %d", bytes, now)
		}
	}
	runtime.GC()
	left := 0
	for _, p := range old {
		if p.Value() != nil {
			left++
		}
	}
	if len(old) == 0 || left > 0 {
		t.Errorf("of %d tiles %d are left", len(old), left)
	}
	if len(w.InOver)+len(w.Apart) > 0 || s.Building() {
		t.Errorf("%d fences are beside the cells", len(w.InOver))
	}
	runtime.KeepAlive(s)
}

// TestEditedSetsDoNotAllocate also has batches in which some points are where nothing has changed.
func TestEditedSetsDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	areas := crookedGrid(rng, 8)
	s, w := patchedSet(t, geometry.BoundaryHalfOpen, areas)
	for i := range 12 {
		putFence(t, s, fmt.Sprint(i), areas[12-i])
	}
	snap, dst := s.Snapshot(), make([]Ref, 0, 64)
	var b Batch
	var lon, lat []float64
	for _, a := range areas {
		p := a[0][0][0]
		lon, lat = append(lon, p.Lon), append(lat, p.Lat)
		checkPatched(t, snap, w.Rule, hardSpots(rng, w.Base, a, 10))
		if n := testing.AllocsPerRun(10, func() { dst = snap.Append(dst[:0], p.Lon, p.Lat) }); n != 0 {
			t.Errorf("Append allocates %v times", n)
		}
	}
	snap.AppendBatch(&b, lon, lat)
	if n := testing.AllocsPerRun(10, func() { b.Reset(); snap.AppendBatch(&b, lon, lat) }); n != 0 {
		t.Errorf("AppendBatch allocates %v times", n)
	}
}

// star has n edges into one spot and n out of it, all within a unit there.
func star(rng *rand.Rand, centre geometry.Point, n int) geometry.Ring {
	var r geometry.Ring
	for i := range n {
		turn := 2 * math.Pi * (float64(i) + rng.Float64()/2) / float64(n)
		near := math.Ldexp(rng.Float64(), -24)
		r = append(
			r,
			geometry.Point{Lon: centre.Lon + math.Cos(turn), Lat: centre.Lat + math.Sin(turn)},
			geometry.Point{Lon: centre.Lon + near*math.Cos(turn), Lat: centre.Lat + near*math.Sin(turn)},
		)
	}
	return r
}
