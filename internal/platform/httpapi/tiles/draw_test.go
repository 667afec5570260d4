package tiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// snapshot returns a set of these fences.
func snapshot(t testing.TB, fences ...fence.Fence) *fence.Snapshot {
	t.Helper()
	s, err := fence.NewSet("s", fence.Options{Kind: fence.KindBBox})
	must(t, err)
	_, err = s.Replace(&geojson.Collection{Fences: fences})
	must(t, err)
	return s.Snapshot()
}

func box(key string, w, s, e, n float64) fence.Fence {
	return fence.Fence{Key: key, Geometry: geometry.MultiPolygon{{rectangle(w, s, e, n)}}}
}

func rectangle(w, s, e, n float64) geometry.Ring {
	return geometry.Ring{{Lon: w, Lat: s}, {Lon: e, Lat: s}, {Lon: e, Lat: n}, {Lon: w, Lat: n}}
}

// tessellation returns n by n adjoining fences, over a box of side degrees from (lon, lat) on.
// Their corners are displaced a little, always in the same way.
func tessellation(n int, lon, lat, side float64) []fence.Fence {
	random := rand.New(rand.NewPCG(1, 2))
	step := side / float64(n)
	corners := make([]geometry.Point, (n+1)*(n+1))
	for i := range corners {
		x, y := float64(i%(n+1)), float64(i/(n+1))
		corners[i] = geometry.Point{Lon: lon + (x+random.Float64()*0.6)*step, Lat: lat + (y+random.Float64()*0.6)*step}
	}
	var fences []fence.Fence
	for y := range n {
		for x := range n {
			at := y*(n+1) + x
			fences = append(fences, fence.Fence{
				Key:        fmt.Sprintf("f%d", y*n+x),
				Properties: json.RawMessage(fmt.Sprintf(`{"ZoneName":"Zone %d-%d"}`, x, y)),
				Geometry:   geometry.MultiPolygon{{{corners[at], corners[at+1], corners[at+n+2], corners[at+n+1]}}},
			})
		}
	}
	return fences
}

func draw(t testing.TB, s *fence.Snapshot, b *Boxes, tile Tile) decoded {
	t.Helper()
	raw, err := Draw(t.Context(), s, b, tile)
	must(t, err)
	return decode(t, raw)
}

// at returns the tile that holds a point.
func at(z int, lon, lat float64) Tile {
	v := Tile{Z: z}.project(geometry.Point{Lon: lon, Lat: lat})
	last := 1<<z - 1
	return Tile{z, min(last, int(v.x/Extent)), min(last, int(v.y/Extent))}
}

// all returns the tiles of a zoom that meet a box.
func all(z int, b geometry.Box) (tiles []Tile) {
	nw, se := at(z, b.MinLon, b.MaxLat), at(z, b.MaxLon, b.MinLat)
	for y := nw.Y; y <= se.Y; y++ {
		for x := nw.X; x <= se.X; x++ {
			tiles = append(tiles, Tile{z, x, y})
		}
	}
	return tiles
}

func TestATileToTheUnit(t *testing.T) {
	f := box("a/1", 0, 0, 90, 45)
	f.Geometry[0] = append(f.Geometry[0], rectangle(22.5, 10, 45, 20))
	f.Properties = json.RawMessage(`{"city":"B","name":"Aleph"}`)
	s := snapshot(t, f, box("speck", -90, 0, -89.9, 0.1), box("elsewhere", 0, -60, 10, -50))
	d := draw(t, s, NewBoxes(s), Tile{1, 1, 0})

	// At zoom 1 the east ends at 4096. Latitude 45 is y 0.359725 of the world, and the equator is
	// its middle.
	want := map[string]any{"key": "a/1", "name": "Aleph", "large": true}
	if got := d["fences"]; len(got) != 1 || !maps.Equal(got[0].properties, want) {
		t.Fatalf("got %v", got)
	}
	rings := d["fences"][0].rings
	y := func(lat float64) int32 {
		return int32(math.Round((0.5 - math.Asinh(math.Tan(lat*math.Pi/180))/(2*math.Pi)) * 2 * Extent))
	}
	if y(45) != 2947 || y(0) != 4096 {
		t.Errorf("the test's own projection: %d %d", y(45), y(0))
	}
	outline := []grid{{0, y(0)}, {0, y(45)}, {2048, y(45)}, {2048, y(0)}}
	hole := []grid{{512, y(10)}, {1024, y(10)}, {1024, y(20)}, {512, y(20)}}
	if len(rings) != 2 || !sameRing(rings[0], outline) || !sameRing(rings[1], hole) {
		t.Errorf("got %v\nwant %v %v", rings, outline, hole)
	}
	if area2(rings[0]) <= 0 || area2(rings[1]) >= 0 {
		t.Errorf("areas %d, %d: an outline is positive, a hole is not", area2(rings[0]), area2(rings[1]))
	}

	west := draw(t, s, NewBoxes(s), Tile{1, 0, 0})
	if small, dropped := west.rest(); small != 1 || dropped != 0 {
		t.Errorf("small %d, dropped %d", small, dropped)
	}
	cellOfSpeck := []grid{{2048, 4064}, {2080, 4064}, {2080, 4096}, {2048, 4096}}
	if rings := west["rest"][0].rings; len(rings) != 1 || !sameRing(rings[0], cellOfSpeck) {
		t.Errorf("got %v, want %v", rings, cellOfSpeck)
	}
	if raw, err := Draw(t.Context(), s, NewBoxes(s), Tile{3, 0, 0}); err != nil || len(raw) != 0 {
		t.Errorf("an empty tile has %d bytes, %v", len(raw), err)
	}
}

// sameRing compares rings, wherever they begin.
func sameRing(a, b []grid) bool {
	for range a {
		if slices.Equal(a, b) {
			return true
		}
		a = append(slices.Clone(a[1:]), a[0])
	}
	return false
}

// star returns a ring around a point, with its vertices at random distances.
func star(random *rand.Rand, lon, lat, radius float64, vertices int) geometry.Ring {
	r := make(geometry.Ring, vertices)
	for i := range r {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(vertices))
		d := radius * (0.5 + random.Float64()/2)
		r[i] = geometry.Point{Lon: lon + d*cos, Lat: lat + d*sin}
	}
	return r
}

// The drawn shape equals the fence, except within three units of its border.
func TestDrawnIsTheFence(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var fences []fence.Fence
	for i := range 60 {
		lon, lat, radius := 13+random.Float64(), 52+random.Float64(), math.Pow(10, -3*random.Float64())
		f := fence.Fence{Key: fmt.Sprint(i), Geometry: geometry.MultiPolygon{{star(random, lon, lat, radius, 5+random.IntN(200))}}}
		if i%2 == 0 {
			f.Geometry[0] = append(f.Geometry[0], star(random, lon, lat, radius*0.4, 30))
		}
		if i%3 == 0 {
			f.Geometry = append(f.Geometry, geometry.Polygon{star(random, lon+2.5*radius, lat, radius, 12)})
		}
		fences = append(fences, f)
	}
	s := snapshot(t, fences...)
	b := NewBoxes(s)
	compared := 0
	for z := range MaxZoom + 1 {
		for range 12 {
			tile := at(z, 13+random.Float64(), 52+random.Float64())
			drawn := draw(t, s, b, tile).byKey(t)
			for key, f := range drawn {
				ref, _ := s.Lookup(key)
				for range 40 {
					x, y := random.Float64()*Extent, random.Float64()*Extent
					want, certain := surely(s.Fence(ref).Geometry, tile, x, y)
					if !certain {
						continue
					}
					compared++
					if f.holds(x, y) != want {
						t.Fatalf("tile %v, fence %s, (%.1f, %.1f): the fence holds it: %v", tile, key, x, y, want)
					}
				}
			}
			for ref, f := range s.All() {
				if _, ok := drawn[f.Key]; ok {
					continue
				}
				// A fence that is not drawn is not in the tile, or small.
				x, y := random.Float64()*Extent, random.Float64()*Extent
				if tile.span(f.Geometry.Bounds()).side() < cell {
					continue
				}
				if held, certain := surely(s.Fence(ref).Geometry, tile, x, y); held && certain {
					t.Fatalf("tile %v has no fence %s", tile, f.Key)
				}
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d points were compared", compared)
	}
}

// surely reports whether the fence holds a point of the tile, and whether no border is within three
// units of the point. Borders are straight in degrees, which are units over such a short distance.
func surely(mp geometry.MultiPolygon, tile Tile, x, y float64) (held, certain bool) {
	units := tile.units()
	at := geometry.Point{
		Lon: (x+float64(tile.X*Extent))/units*360 - 180, Lat: latitude((y + float64(tile.Y*Extent)) / units),
	}
	perLon := units / 360
	perLat := perLon / math.Cos(at.Lat*math.Pi/180)
	around := func(p geometry.Point) vertex { return vertex{(p.Lon - at.Lon) * perLon, (p.Lat - at.Lat) * perLat} }
	for _, part := range mp {
		for _, ring := range part {
			from := around(ring[len(ring)-1])
			for _, p := range ring {
				to := around(p)
				if toSegment2(vertex{}, from, to) <= 3*3 {
					return false, false
				}
				from = to
			}
		}
	}
	return mp.Contains(at), true
}

// In a small scale each fence of a dense set is drawn or counted, and the area that they cover is
// covered.
func TestNoFenceIsForgotten(t *testing.T) {
	fences := tessellation(120, 13, 52, 1)
	s := snapshot(t, fences...)
	b := NewBoxes(s)
	for z := range 10 {
		for _, tile := range all(z, s.Bounds()) {
			d := draw(t, s, b, tile)
			drawn := d.byKey(t)
			small, dropped := d.rest()
			inTile := 0
			for _, f := range fences {
				sp := tile.span(f.Geometry.Bounds())
				if meets := sp.west < Extent && sp.north < Extent && sp.east > 0 && sp.south > 0; meets {
					inTile++
					delete(drawn, f.Key)
				} else if _, ok := drawn[f.Key]; ok {
					inTile++ // within the buffer
					delete(drawn, f.Key)
				}
			}
			if got := len(d["fences"]) + small + dropped; got != inTile || len(drawn) != 0 || dropped != 0 {
				t.Errorf("tile %v: %d drawn, %d small, %d dropped: %d of %d", tile, len(d["fences"]), small, dropped, got, inTile)
			}
		}
	}
	seen := draw(t, s, b, Tile{})["rest"][0]
	middle := Tile{}.project(geometry.Point{Lon: 13.5, Lat: 52.5})
	if !seen.holds(middle.x, middle.y) {
		t.Error("from far away nothing is seen of the set")
	}
}

func TestEveryFenceIsDrawnAtTheClosestZoom(t *testing.T) {
	fences := append(tessellation(20, 13, 52, 0.02), box("a centimetre", 13.5, 52.5, 13.5+1e-7, 52.5+1e-7))
	s := snapshot(t, fences...)
	b := NewBoxes(s)
	for _, f := range fences {
		p := f.Geometry[0][0][0]
		if _, ok := draw(t, s, b, at(MaxZoom, p.Lon, p.Lat)).byKey(t)[f.Key]; !ok {
			t.Errorf("%s is not drawn", f.Key)
		}
	}
}

// A fence that is long and too narrow to draw is visible along its course, not over all of its box.
func TestNarrowFence(t *testing.T) {
	river := fence.Fence{Key: "river", Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 60, Lat: 50}, {Lon: 60.0001, Lat: 50}}}}}
	s := snapshot(t, river)
	d := draw(t, s, NewBoxes(s), Tile{})
	if small, _ := d.rest(); small != 1 || len(d["fences"]) != 0 {
		t.Fatalf("got %v", d)
	}
	corner, course := Tile{}.project(geometry.Point{Lon: 50, Lat: 10}), Tile{}.project(geometry.Point{})
	if f := d["rest"][0]; f.holds(corner.x, corner.y) || !f.holds(course.x+1, course.y+1) {
		t.Errorf("cells %v", f.rings)
	}
	if d := draw(t, s, NewBoxes(s), at(4, 50, 10)); len(d) != 0 {
		t.Errorf("it is not in this tile: %v", d)
	}
}

func TestWhatDoesNotFitIsDroppedSmallestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var fences []fence.Fence
	for i := range 3000 {
		fences = append(fences, fence.Fence{
			Key:      fmt.Sprint(i),
			Geometry: geometry.MultiPolygon{{star(random, 0, 0, 20+float64(i%1000)/50, 300)}},
		})
	}
	s := snapshot(t, fences...)
	raw, err := Draw(t.Context(), s, NewBoxes(s), Tile{Z: 2, X: 2, Y: 1})
	must(t, err)
	if len(raw) > MaxBytes || len(raw) < maxFenceBytes*9/10 {
		t.Errorf("%d bytes", len(raw))
	}
	d := decode(t, raw)
	small, dropped := d.rest()
	if small != 0 || dropped == 0 || dropped+len(d["fences"]) != len(fences) {
		t.Errorf("%d drawn, %d dropped, %d small", len(d["fences"]), dropped, small)
	}
	area := func(f *fence.Fence) float64 { return Tile{}.span(f.Geometry.Bounds()).area() }
	least := math.Inf(1)
	drawn := d.byKey(t)
	for key := range drawn {
		ref, _ := s.Lookup(key)
		least = min(least, area(s.Fence(ref)))
	}
	for _, f := range s.All() {
		if _, ok := drawn[f.Key]; !ok && area(f) > least*(1+1e-9) {
			t.Errorf("%s is left out, a smaller one is not", f.Key)
		}
	}
}

// The largest possible tile: fences until no more fit, and every other cell of the rest.
func TestTheBoundHoldsForTheWorst(t *testing.T) {
	d := drawing{bounds: Tile{}.bounds()}
	d.fences = layer{name: "fences", keys: []string{"key"}}
	d.others = layer{name: "rest", keys: []string{"small", "dropped"}}
	large := box(strings.Repeat("k", 256), 0, 0, 90, 45)
	for d.draw(&large, span{0, 0, 1, 1}) {
	}
	for y := range cells {
		for x := range cells {
			if (x+y)%2 == 0 {
				d.rest.mark(span{float64(x * cell), float64(y * cell), float64(x * cell), float64(y * cell)})
			}
		}
	}
	d.rest.small, d.rest.dropped = math.MaxInt, math.MaxInt
	d.drawRest()
	if n := len(d.others.appendTo(nil)); n > maxRestBytes {
		t.Errorf("the rest takes %d bytes", n)
	}
	if n := len(d.others.appendTo(d.fences.appendTo(nil))); n > MaxBytes {
		t.Errorf("the tile takes %d bytes", n)
	}
}

// The work for a ring grows with its vertices, and not with their square, whatever its shape: each
// of these teeth differs from the line between any others.
func TestAComb(t *testing.T) {
	const teeth = 100_000
	ring := []vertex{{Extent, -50}, {0, -50}}
	for i := range 2 * teeth {
		ring = append(ring, vertex{float64(i) * Extent / (2 * teeth), float64(i % 2 * 100)})
	}
	all := len(ring)
	if kept := new(simplifier).simplify(ring, tolerance); len(kept) != all {
		t.Errorf("%d of %d vertices are left", len(kept), all)
	}
}

func TestTheEdgesOfTheWorld(t *testing.T) {
	s := snapshot(t, box("pole", -180, 80, 180, 90), box("beyond", 0, 86, 10, 89), box("south", -10, -90, 10, -85.5),
		box("date line", 170, -10, 180, 10), box("other side", -180, -10, -170, 10))
	b := NewBoxes(s)
	for z := range MaxZoom + 1 {
		last := 1<<z - 1
		for _, x := range []int{0, last / 2, last} {
			for _, y := range []int{0, last / 2, last} {
				draw(t, s, b, Tile{z, x, y}) // checks the places of the vertices
			}
		}
	}
	if drawn := draw(t, s, b, Tile{4, 8, 0}).byKey(t); !drawn["pole"].holds(100, 0.5) {
		t.Error("the pole's fence does not reach the edge of the map")
	}
	if drawn := draw(t, s, b, Tile{3, 7, 3}).byKey(t); !drawn["date line"].holds(Extent-1, Extent-1) {
		t.Error("the fence at the antimeridian does not reach it")
	}
}

func TestValid(t *testing.T) {
	for _, c := range []struct {
		tile Tile
		want string
	}{
		{Tile{0, 0, 0}, ""},
		{Tile{18, 1<<18 - 1, 1<<18 - 1}, ""},
		{Tile{-1, 0, 0}, "zoom -1 is out of range 0 to 18"},
		{Tile{19, 0, 0}, "zoom 19 is out of range 0 to 18"},
		{Tile{2, 4, 0}, "x 4 is out of range 0 to 3 at zoom 2"},
		{Tile{2, 0, -1}, "y -1 is out of range 0 to 3 at zoom 2"},
	} {
		got := ""
		if err := c.tile.Valid(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q", c.tile, got)
		}
	}
}

func TestDrawStops(t *testing.T) {
	s := snapshot(t, tessellation(20, 13, 52, 1)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Draw(ctx, s, NewBoxes(s), at(7, 13.1, 52.1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Edges around the world take few vertices in a small tile, and the ones they take are beyond its
// sides or within a unit of the edge.
func TestLongEdgesTakeFewVertices(t *testing.T) {
	tile := Tile{MaxZoom, 1 << (MaxZoom - 1), 1 << (MaxZoom - 1)}
	var ring geometry.Ring
	for i := range 1000 {
		ring = append(ring, geometry.Point{Lon: -179 - float64(i)/2000, Lat: -60}, geometry.Point{Lon: 179 + float64(i)/2000, Lat: 80})
	}
	if got := tile.near(nil, ring, tile.bounds()); len(got) > 6*len(ring) {
		t.Errorf("%d vertices of a ring of %d", len(got), len(ring))
	}
	b := tile.bounds()
	for _, to := range []geometry.Point{{Lon: b.MaxLon, Lat: b.MaxLat}, {Lon: b.MaxLon, Lat: b.MinLat - 1e-4}} {
		a := geometry.Point{Lon: -90, Lat: -60}
		end := geometry.Point{Lon: to.Lon + (to.Lon-a.Lon)/2, Lat: to.Lat + (to.Lat-a.Lat)/2}
		u, v := tile.project(a), tile.project(end)
		path := append(tile.bend([]vertex{u}, a, end, u, v, b), v)
		for f := 0.0; f <= 1; f += 1e-4 {
			p := geometry.Point{Lon: a.Lon + (end.Lon-a.Lon)*f, Lat: a.Lat + (end.Lat-a.Lat)*f}
			if beyond(b, p) != 0 {
				continue
			}
			off := math.Inf(1)
			for i := range path[1:] {
				off = min(off, toSegment2(tile.project(p), path[i], path[i+1]))
			}
			if off > 1 {
				t.Errorf("%v is %v units off", p, math.Sqrt(off))
			}
		}
	}
}

func TestNameOf(t *testing.T) {
	for properties, want := range map[string]string{
		``:                                       "",
		`{}`:                                     "",
		`{"code":"x","n":1}`:                     "",
		`{"DistrictName":"North","name":"N 1"}`:  "N 1",
		`{"BoroName":"Queens","NTAName":"Soho"}`: "Queens",
		`{"title":"T","Label":"L"}`:              "T",
		`{"name":7,"label":" L "}`:               "L",
		`{"name":{"de":"Nord"},"x":[1,{}]}`:      "",
		`{"name":"` + strings.Repeat("ä", 40) + `"}`: strings.Repeat("ä", 32),
	} {
		if got := NameOf(json.RawMessage(properties)); got != want {
			t.Errorf("%s: %q, want %q", properties, got, want)
		}
	}
}

// For any rings, a tile is valid and keeps its bounds.
func FuzzDraw(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 0, 128, 255}, uint8(3), uint8(4), uint8(2))
	f.Add([]byte{10, 10, 20, 20, 10, 20, 20, 10, 15, 15}, uint8(18), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, z, x, y uint8) {
		tile := Tile{Z: int(z) % (MaxZoom + 1)}
		tile.X, tile.Y = int(x)%(1<<tile.Z), int(y)%(1<<tile.Z)
		b := tile.bounds()
		var ring geometry.Ring
		var part geometry.Polygon
		for ; len(data) >= 2; data = data[2:] {
			if data[0] == 255 {
				part, ring = append(part, ring), nil
				continue
			}
			// Around the tile, half of them outside.
			ring = append(ring, geometry.Point{
				Lon: max(-180, min(180, b.MinLon+(b.MaxLon-b.MinLon)*(float64(data[0])/128-0.5))),
				Lat: max(-90, min(90, b.MinLat+(b.MaxLat-b.MinLat)*(float64(data[1])/128-0.5))),
			})
		}
		s, err := fence.NewSet("s", fence.Options{})
		must(t, err)
		if _, snap, err := s.Put(fence.Fence{Key: "k", Geometry: geometry.MultiPolygon{append(part, ring)}}); err == nil {
			draw(t, snap, NewBoxes(snap), tile)
		}
	})
}
