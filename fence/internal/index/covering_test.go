package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/golang/geo/s2"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

func entryOf(mp geometry.MultiPolygon) *Entry {
	e := NewEntry(0, &geojson.Fence{Geometry: mp}, nil)
	e.prepare()
	return e
}

func boxRing(b geometry.Box) geometry.Ring {
	return geometry.Ring{{Lon: b.MinLon, Lat: b.MinLat}, {Lon: b.MaxLon, Lat: b.MinLat}, {Lon: b.MaxLon, Lat: b.MaxLat}, {Lon: b.MinLon, Lat: b.MaxLat}}
}

// A country at zoom 23 would be billions of tiles.
func TestCoveringsAreBounded(t *testing.T) {
	world := geometry.MultiPolygon{{boxRing(geometry.Box{MinLon: -180, MinLat: -90, MaxLon: 180, MaxLat: 90})}}
	country := geometry.MultiPolygon{{boxRing(geometry.Box{MinLon: 5.1, MinLat: 47.2, MaxLon: 15.3, MaxLat: 55.4})}}
	var islands geometry.MultiPolygon
	for i := range 300 {
		x := float64(i) / 2
		islands = append(islands, geometry.Polygon{boxRing(geometry.Box{MinLon: x, MinLat: 0, MaxLon: x + 0.1, MaxLat: 0.1})})
	}
	for name, mp := range map[string]geometry.MultiPolygon{"world": world, "country": country, "islands": islands} {
		e := entryOf(mp)
		for _, zoom := range []int{0, 14, maxZoom} {
			n := 0
			eachTile(e, zoom, func(cell, uint32, bool) { n++ })
			if n == 0 || n > maxCells {
				t.Errorf("%s at zoom %d: %d tiles", name, zoom, n)
			}
			if n := len((&s2Coverer{zoom: zoom}).cover(nil, e)); n == 0 || n > maxCells {
				t.Errorf("%s at zoom %d: %d cells", name, zoom, n)
			}
		}
	}
	if z := tileZoom(entryOf(country), maxZoom); z < 8 || z > 12 {
		t.Errorf("a country is listed at zoom %d", z)
	}
}

// More parts than cells are allowed for leave one cell each.
func TestCoveringOfManyParts(t *testing.T) {
	var mp geometry.MultiPolygon
	for i := range maxCells + 100 {
		x, y := float64(i%90), float64(i/90)
		mp = append(mp, geometry.Polygon{boxRing(geometry.Box{MinLon: x, MinLat: y, MaxLon: x + 0.25, MaxLat: y + 0.25})})
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
			k := float64(int(1) << rng.IntN(maxZoom+1))
			lon, lat = math.Floor(rng.Float64()*k)/k*360-180, math.Floor(rng.Float64()*k)/k*180-90
		}
		x, y := tile(lon, lat)
		east, north := tile(math.Nextafter(lon, 999), math.Nextafter(lat, 999))
		if east < x || east > x+1 || north < y || north > y+1 {
			t.Fatalf("%v,%v is in %d,%d and an ulp further in %d,%d", lon, lat, x, y, east, north)
		}
	}
	const last = 1<<maxZoom - 1
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
		for level := range maxZoom + 1 {
			b := s2BoundOf(leaf.Parent(level))
			ok := false
			for _, box := range b.boxes[:b.n] {
				// By far: what rounds otherwise elsewhere must still be within.
				ok = ok || box.MinLon <= -180 && box.MaxLon >= 180 && box.Contains(geometry.Point{Lon: lon, Lat: lat}) ||
					geometry.Box{MinLon: box.MinLon, MinLat: box.MinLat + s2Pad/2, MaxLon: box.MaxLon, MaxLat: box.MaxLat - s2Pad/2}.Contains(geometry.Point{Lon: lon, Lat: lat})
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
	lake := boxRing(geometry.Box{MinLon: 4, MinLat: 4, MaxLon: 6, MaxLat: 6})
	parents := newParents([]geometry.MultiPolygon{{{boxRing(geometry.Box{MinLon: 0, MinLat: 0, MaxLon: 10, MaxLat: 10}), lake}}, {{boxRing(geometry.Box{MinLon: 20, MinLat: 0, MaxLon: 30, MaxLat: 10})}}})
	for name, c := range map[string]struct {
		part geometry.Polygon
		want int32
	}{
		"within":                   {geometry.Polygon{boxRing(geometry.Box{MinLon: 1, MinLat: 1, MaxLon: 2, MaxLat: 2})}, 1},
		"within the other":         {geometry.Polygon{boxRing(geometry.Box{MinLon: 21, MinLat: 1, MaxLon: 22, MaxLat: 2})}, 2},
		"without":                  {geometry.Polygon{boxRing(geometry.Box{MinLon: 12, MinLat: 1, MaxLon: 13, MaxLat: 2})}, 0},
		"across the border":        {geometry.Polygon{boxRing(geometry.Box{MinLon: 9, MinLat: 1, MaxLon: 11, MaxLat: 2})}, 0},
		"on the border":            {geometry.Polygon{boxRing(geometry.Box{MinLon: 0, MinLat: 1, MaxLon: 1, MaxLat: 2})}, 0},
		"in the lake":              {geometry.Polygon{boxRing(geometry.Box{MinLon: 4.5, MinLat: 4.5, MaxLon: 5, MaxLat: 5})}, 0},
		"around the lake":          {geometry.Polygon{boxRing(geometry.Box{MinLon: 3, MinLat: 3, MaxLon: 7, MaxLat: 7})}, 0},
		"around it with a hole":    {geometry.Polygon{boxRing(geometry.Box{MinLon: 3, MinLat: 3, MaxLon: 7, MaxLat: 7}), boxRing(geometry.Box{MinLon: 3.5, MinLat: 3.5, MaxLon: 6.5, MaxLat: 6.5})}, 1},
		"its hole within the lake": {geometry.Polygon{boxRing(geometry.Box{MinLon: 3, MinLat: 3, MaxLon: 7, MaxLat: 7}), boxRing(geometry.Box{MinLon: 4.5, MinLat: 4.5, MaxLon: 5, MaxLat: 5})}, 0},
		"its hole outside":         {geometry.Polygon{boxRing(geometry.Box{MinLon: 1, MinLat: 1, MaxLon: 2, MaxLat: 2}), boxRing(geometry.Box{MinLon: 12, MinLat: 1, MaxLon: 13, MaxLat: 2})}, 0},
		"equal":                    {geometry.Polygon{boxRing(geometry.Box{MinLon: 20, MinLat: 0, MaxLon: 30, MaxLat: 10})}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := groupOf(parents, entryOf(geometry.MultiPolygon{c.part}), 0); got != c.want {
				t.Errorf("in group %d, want %d", got, c.want)
			}
		})
	}
}
