package fence

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/golang/geo/s2"
)

func entryOf(mp MultiPolygon) *entry {
	e := newEntry(0, &Fence{Geometry: mp}, nil)
	e.prepare()
	return e
}

func boxRing(b Box) Ring {
	return Ring{{b.MinLon, b.MinLat}, {b.MaxLon, b.MinLat}, {b.MaxLon, b.MaxLat}, {b.MinLon, b.MaxLat}}
}

// A country at zoom 23 would be billions of tiles.
func TestCoveringsAreBounded(t *testing.T) {
	world := MultiPolygon{{boxRing(Box{-180, -90, 180, 90})}}
	country := MultiPolygon{{boxRing(Box{5.1, 47.2, 15.3, 55.4})}}
	var islands MultiPolygon
	for i := range 300 {
		x := float64(i) / 2
		islands = append(islands, Polygon{boxRing(Box{x, 0, x + 0.1, 0.1})})
	}
	for name, mp := range map[string]MultiPolygon{"world": world, "country": country, "islands": islands} {
		e := entryOf(mp)
		for _, zoom := range []int{0, 14, MaxZoom} {
			n := 0
			eachTile(e, zoom, func(cell, uint32) { n++ })
			if n == 0 || n > maxCells {
				t.Errorf("%s at zoom %d: %d tiles", name, zoom, n)
			}
			if n := len((&s2Coverer{zoom: zoom}).cover(nil, e)); n == 0 || n > maxCells {
				t.Errorf("%s at zoom %d: %d cells", name, zoom, n)
			}
		}
	}
	if z := tileZoom(entryOf(country), MaxZoom); z < 8 || z > 12 {
		t.Errorf("a country is listed at zoom %d", z)
	}
}

// More parts than cells are allowed for leave one cell each.
func TestCoveringOfManyParts(t *testing.T) {
	var mp MultiPolygon
	for i := range maxCells + 100 {
		x, y := float64(i%90), float64(i/90)
		mp = append(mp, Polygon{boxRing(Box{x, y, x + 0.25, y + 0.25})})
	}
	e := entryOf(mp)
	if z := tileZoom(e, 9); z != 0 {
		t.Errorf("listed at zoom %d", z)
	}
	if n := len((&s2Coverer{zoom: 9}).cover(nil, e)); n > 2*len(mp) {
		t.Errorf("%d cells for %d parts", n, len(mp))
	}
}

func TestTileIsMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 20_000 {
		lon, lat := rng.Float64()*360-180, rng.Float64()*180-90
		if rng.IntN(2) == 0 { // a border
			k := float64(int(1) << rng.IntN(MaxZoom+1))
			lon, lat = math.Floor(rng.Float64()*k)/k*360-180, math.Floor(rng.Float64()*k)/k*180-90
		}
		x, y := tile(lon, lat)
		east, north := tile(math.Nextafter(lon, 999), math.Nextafter(lat, 999))
		if east < x || east > x+1 || north < y || north > y+1 {
			t.Fatalf("%v,%v is in %d,%d and an ulp further in %d,%d", lon, lat, x, y, east, north)
		}
	}
	const last = 1<<MaxZoom - 1
	for _, c := range []struct {
		lon, lat float64
		x, y     uint32
	}{
		{-180, -90, 0, 0},
		{180, 90, last, last},
		{-181, -91, 0, 0},
		{1e300, 1e300, last, last},
		{-1e300, -1e300, 0, 0},
		{0, 0, 1 << 22, 1 << 22},
		{math.Nextafter(0, -1), 0, 1 << 22, 1 << 22},
		{-1e-4, -1e-4, 1<<22 - 3, 1<<22 - 5},
	} {
		if x, y := tile(c.lon, c.lat); x != c.x || y != c.y {
			t.Errorf("%v,%v is in %d,%d, want %d,%d", c.lon, c.lat, x, y, c.x, c.y)
		}
	}
}

// Every point is within the bound of each cell that it may be in: also where the rounding of
// the way to its cell moves it over a border.
func TestS2BoundHoldsItsPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	check := func(lon, lat float64) {
		leaf := s2.CellIDFromLatLng(s2.LatLngFromDegrees(lat, lon))
		for level := range MaxZoom + 1 {
			b := s2BoundOf(leaf.Parent(level))
			ok := false
			for _, box := range b.boxes[:b.n] {
				// By far: what rounds otherwise elsewhere must still be within.
				ok = ok || box.MinLon <= -180 && box.MaxLon >= 180 && box.Contains(Point{lon, lat}) ||
					Box{box.MinLon, box.MinLat + s2Pad/2, box.MaxLon, box.MaxLat - s2Pad/2}.Contains(Point{lon, lat})
			}
			if !ok {
				t.Fatalf("%v,%v is not within %v of its cell at level %d", lon, lat, b.boxes[:b.n], level)
			}
		}
	}
	for range 3000 {
		lon, lat := rng.Float64()*360-180, rng.Float64()*180-90
		if rng.IntN(3) == 0 {
			lat = 90 - math.Pow(10, -rng.Float64()*16)
		}
		v := s2.LatLngFromPoint(s2.CellFromCellID(s2.CellIDFromLatLng(s2.LatLngFromDegrees(lat, lon)).Parent(rng.IntN(24))).Vertex(rng.IntN(4)))
		check(lon, lat)
		check(lon, -lat)
		check(180, lat)
		check(-180, lat)
		check(v.Lng.Degrees(), v.Lat.Degrees())
	}
	for _, lat := range []float64{90, -90, math.Nextafter(90, 0), 0} {
		for _, lon := range []float64{-180, -135, -90, 0, 45, 90, 180} {
			check(lon, lat)
		}
	}
}

func TestSurrounds(t *testing.T) {
	lake := boxRing(Box{4, 4, 6, 6})
	parents := newParents([]MultiPolygon{{{boxRing(Box{0, 0, 10, 10}), lake}}, {{boxRing(Box{20, 0, 30, 10})}}})
	for name, c := range map[string]struct {
		part Polygon
		want int32
	}{
		"within":                   {Polygon{boxRing(Box{1, 1, 2, 2})}, 1},
		"within the other":         {Polygon{boxRing(Box{21, 1, 22, 2})}, 2},
		"without":                  {Polygon{boxRing(Box{12, 1, 13, 2})}, 0},
		"across the border":        {Polygon{boxRing(Box{9, 1, 11, 2})}, 0},
		"on the border":            {Polygon{boxRing(Box{0, 1, 1, 2})}, 0},
		"in the lake":              {Polygon{boxRing(Box{4.5, 4.5, 5, 5})}, 0},
		"around the lake":          {Polygon{boxRing(Box{3, 3, 7, 7})}, 0},
		"around it with a hole":    {Polygon{boxRing(Box{3, 3, 7, 7}), boxRing(Box{3.5, 3.5, 6.5, 6.5})}, 1},
		"its hole within the lake": {Polygon{boxRing(Box{3, 3, 7, 7}), boxRing(Box{4.5, 4.5, 5, 5})}, 0},
		"its hole outside":         {Polygon{boxRing(Box{1, 1, 2, 2}), boxRing(Box{12, 1, 13, 2})}, 0},
		"equal":                    {Polygon{boxRing(Box{20, 0, 30, 10})}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := groupOf(parents, entryOf(MultiPolygon{c.part}), 0); got != c.want {
				t.Errorf("in group %d, want %d", got, c.want)
			}
		})
	}
}

// A set that grows and shrinks about the limit does not change its kind each time.
func TestAutoChangesSlowly(t *testing.T) {
	s, err := NewSet("test", Options{Kind: KindAuto})
	if err != nil {
		t.Fatal(err)
	}
	var changes []int
	last := s.Snapshot().Stats().Kind
	step := func(n int) {
		if k := s.Snapshot().Stats().Kind; k != last {
			changes, last = append(changes, n), k
		}
	}
	var keys []string
	for n := 1; n <= 3*autoSmall; n++ {
		key, _, err := s.Add(Fence{Geometry: MultiPolygon{{boxRing(Box{0, 0, float64(n), 1})}}})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		step(n)
	}
	for n := len(keys) - 1; n >= 0; n-- {
		s.Delete(keys[n])
		step(n)
	}
	if len(changes) != 2 || changes[0] != autoSmall+1 || changes[1] != autoSmall/2 {
		t.Errorf("the kind changed at %v fences", changes)
	}
	if last != KindBBox || s.Kind() != KindAuto {
		t.Errorf("the last kind is %s of %s", last, s.Kind())
	}
}
