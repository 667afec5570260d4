package fence

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"
)

// crookedGrid gives n x n quadrangles that share their vertices.
func crookedGrid(rng *rand.Rand, n int) (areas []MultiPolygon) {
	vertices := make([][]Point, n+1)
	for y := range vertices {
		for x := range n + 1 {
			vertices[y] = append(vertices[y], Point{-74 + (float64(x)+rng.Float64()/2)/float64(n), 40 + (float64(y)+rng.Float64()/2)/float64(n)})
		}
	}
	for y := range n {
		for x := range n {
			areas = append(areas, MultiPolygon{{{vertices[y][x], vertices[y][x+1], vertices[y+1][x+1], vertices[y+1][x]}}})
		}
	}
	return areas
}

// patchedSet is a cellmap of areas whose keys are their numbers.
func patchedSet(t *testing.T, b Boundary, areas []MultiPolygon) (*Set, *cellWriter) {
	t.Helper()
	s, err := NewSet("patched", Options{Kind: KindCellmap, Boundary: b})
	if err != nil {
		t.Fatal(err)
	}
	c := &Collection{}
	for _, a := range areas {
		c.Fences = append(c.Fences, Fence{Geometry: a})
	}
	if _, err := s.Replace(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Settle)
	return s, cellWriterOf(s.writer)
}

func putFence(t *testing.T, s *Set, key string, a MultiPolygon) {
	t.Helper()
	if _, _, err := s.Put(Fence{Key: key, Geometry: a}); err != nil {
		t.Fatal(err)
	}
}

// checkPatched compares a snapshot's answers with those of the geometries themselves.
func checkPatched(t *testing.T, s *Snapshot, r rule, points []Point) {
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
			if f.Geometry.decide(r, p) {
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
func hardSpots(rng *rand.Rand, m *cellmap, mp MultiPolygon, n int) (points []Point) {
	bounds := mp.Bounds()
	for range n {
		ring := mp[rng.IntN(len(mp))][0]
		i := rng.IntN(len(ring))
		a, b := ring[i], ring[(i+1)%len(ring)]
		middle := Point{(a.Lon + b.Lon) / 2, (a.Lat + b.Lat) / 2}
		any := Point{
			bounds.MinLon + rng.Float64()*(bounds.MaxLon-bounds.MinLon),
			bounds.MinLat + rng.Float64()*(bounds.MaxLat-bounds.MinLat),
		}
		shift := m.shift - uint(rng.IntN(int(min(m.shift, 4))))
		corner := Point{toDegrees(int64(toUnits(any.Lon)) >> shift << shift), toDegrees(int64(toUnits(any.Lat)) >> shift << shift)}
		points = append(points, a, middle, any, corner,
			Point{math.Nextafter(a.Lon, 0), a.Lat}, Point{middle.Lon, math.Nextafter(middle.Lat, 90)})
	}
	return points
}

// randomChange gives an area in the grid of a crooked one: like one that is there, moved to lie
// on a neighbour's edges, of several parts with a hole, or with very many edges.
func randomChange(rng *rand.Rand, areas []MultiPolygon) MultiPolygon {
	like := areas[rng.IntN(len(areas))]
	ring := slices.Clone(like[0][0])
	c := Point{(ring[0].Lon + ring[2].Lon) / 2, (ring[0].Lat + ring[2].Lat) / 2}
	switch rng.IntN(6) {
	case 0:
		return like
	case 1:
		ring[rng.IntN(4)] = c
		return MultiPolygon{{ring}}
	case 2: // the middle of each edge is another vertex
		var r Ring
		for i, a := range ring {
			b := ring[(i+1)%4]
			r = append(r, a, Point{(a.Lon + b.Lon) / 2, (a.Lat + b.Lat) / 2})
		}
		return MultiPolygon{{r}}
	case 3:
		hole := Ring{{c.Lon, c.Lat}, {c.Lon + 0.01, c.Lat}, {c.Lon, c.Lat + 0.01}}
		return MultiPolygon{{ring, hole}, areas[rng.IntN(len(areas))][0], {{c, ring[0], ring[1]}}}
	case 4:
		return MultiPolygon{{star(rng, c, 3+rng.IntN(30))[:4]}}
	}
	var r Ring
	for i := range 60 {
		turn, far := 2*math.Pi*float64(i)/60, 0.02+0.02*rng.Float64()
		r = append(r, Point{c.Lon + far*math.Cos(turn), c.Lat + far*math.Sin(turn)})
	}
	return MultiPolygon{{r}}
}

// TestPatchesEqualBuilds adds, replaces and deletes fences in any order. Whatever the boundaries
// count as, the cells that are left answer as those that are built of the fences that are left.
func TestPatchesEqualBuilds(t *testing.T) {
	for _, b := range []Boundary{BoundaryHalfOpen, BoundaryClosed, BoundaryOpen} {
		t.Run(string(b), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(91, 92))
			areas := crookedGrid(rng, 10)
			s, w := patchedSet(t, b, areas)
			before := s.Snapshot()
			was := hardSpots(rng, w.base, areas[0], 5)
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
				checkPatched(t, s.Snapshot(), w.rule, hardSpots(rng, w.base, next, 2))
				if i%40 == 39 {
					var spots []Point
					for _, f := range s.Snapshot().All() {
						spots = append(spots, hardSpots(rng, w.base, f.Geometry, 1)...)
					}
					checkPatched(t, s.Snapshot(), w.rule, spots)
				}
			}
			checkPatched(t, before, w.rule, was)
			if n := w.patch.tiles; n == 0 || len(w.inOver) > 60 {
				t.Errorf("%d tiles, %d fences beside the cells: cells have not been tested", n, len(w.inOver))
			}
		})
	}
}

// TestWhatCellsCannotTake: fences that leave the grid, or have too many edges or cells, are kept
// beside the cells, and cells do not count for what they were before.
func TestWhatCellsCannotTake(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	areas := crookedGrid(rng, 28) // so many that it is not outgrown
	s, w := patchedSet(t, BoundaryHalfOpen, areas)
	many := make(Ring, patchEdges+1)
	for i := range many {
		turn := 2 * math.Pi * float64(i) / float64(len(many))
		many[i] = Point{-73.5 + 0.1*math.Cos(turn), 40.5 + 0.1*math.Sin(turn)}
	}
	beyond := MultiPolygon{{{{-75, 39}, {-73.4, 40.5}, {-74, 42}}}}
	for i, a := range []MultiPolygon{beyond, {{many}}} {
		key := fmt.Sprint(i)
		putFence(t, s, key, a)
		if _, ok := w.inOver[Ref(i)]; !ok {
			t.Fatalf("%d is in cells", i)
		}
		spots := append(hardSpots(rng, w.base, a, 5), hardSpots(rng, w.base, areas[i], 5)...)
		checkPatched(t, s.Snapshot(), w.rule, spots)
		for k := range 10 { // cells around it are made anew meanwhile
			putFence(t, s, fmt.Sprint(400+k), randomChange(rng, areas))
			checkPatched(t, s.Snapshot(), w.rule, spots)
		}
		putFence(t, s, key, areas[i])
		checkPatched(t, s.Snapshot(), w.rule, spots)
		s.Delete(key)
		checkPatched(t, s.Snapshot(), w.rule, spots)
	}
	if _, ok := w.inOver[0]; ok || !slices.Equal(w.apart[:2], []Ref{0, 1}) {
		t.Errorf("%v are apart", w.apart)
	}
}

// TestEditsLeaveNothingBehind: a long run of edits needs no other memory than a short one, and
// what no snapshot has is let go.
func TestEditsLeaveNothingBehind(t *testing.T) {
	rng := rand.New(rand.NewPCG(95, 96))
	areas := crookedGrid(rng, 12)
	s, w := patchedSet(t, BoundaryHalfOpen, areas)
	moved := func(i int) {
		a := MultiPolygon{{slices.Clone(areas[i][0][0])}}
		a[0][0][0].Lon += rng.Float64() * 1e-3 // it stays in the grid
		putFence(t, s, fmt.Sprint(i), a)
	}
	for i := range areas {
		moved(i)
	}
	bytes := s.Snapshot().Stats().Bytes
	var old []weak.Pointer[cellmap]
	for _, page := range w.patch.pages {
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
	if len(w.inOver)+len(w.apart) > 0 || s.Building() {
		t.Errorf("%d fences are beside the cells", len(w.inOver))
	}
	runtime.KeepAlive(s)
}

// TestEditedSetsDoNotAllocate also has batches in which some points are where nothing has changed.
func TestEditedSetsDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 98))
	areas := crookedGrid(rng, 8)
	s, w := patchedSet(t, BoundaryHalfOpen, areas)
	for i := range 12 {
		putFence(t, s, fmt.Sprint(i), areas[12-i])
	}
	snap, dst := s.Snapshot(), make([]Ref, 0, 64)
	var b Batch
	var lon, lat []float64
	for _, a := range areas {
		p := a[0][0][0]
		lon, lat = append(lon, p.Lon), append(lat, p.Lat)
		checkPatched(t, snap, w.rule, hardSpots(rng, w.base, a, 10))
		if n := testing.AllocsPerRun(10, func() { dst = snap.Append(dst[:0], p.Lon, p.Lat) }); n != 0 {
			t.Errorf("Append allocates %v times", n)
		}
	}
	snap.AppendBatch(&b, lon, lat)
	if n := testing.AllocsPerRun(10, func() { b.Reset(); snap.AppendBatch(&b, lon, lat) }); n != 0 {
		t.Errorf("AppendBatch allocates %v times", n)
	}
}
