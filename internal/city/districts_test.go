package city

import (
	"encoding/json"
	"math"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

func TestDistrictCounts(t *testing.T) {
	for seed := range uint64(3) {
		c := cityOf(t, seed)
		ds := c.set(t, "districts")
		var holes, multi, largest, edges int
		for _, f := range ds {
			for _, part := range f.Geometry {
				holes += len(part) - 1
				for _, r := range part {
					largest = max(largest, len(r))
					edges += len(r)
				}
			}
			if len(f.Geometry) > 1 {
				multi++
			}
		}
		t.Logf("seed %d: %d districts, %d holes, %d multipolygons, %d edges", seed, len(ds), holes, multi, edges)
		if math.Abs(float64(len(ds)-2000)) > 100 {
			t.Errorf("seed %d: %d districts, want about 2,000", seed, len(ds))
		}
		if holes < 10 || multi < 10 || largest <= 10000 {
			t.Errorf("seed %d: %d holes, %d multipolygons, largest ring of %d vertices", seed, holes, multi, largest)
		}
		if per := edges / len(ds); per < 60 || per > 110 {
			t.Errorf("seed %d: %d edges per district", seed, per)
		}
	}
}

type edge struct{ a, b geometry.Point }

func edgesOf(mp geometry.MultiPolygon) (es []edge) {
	for _, part := range mp {
		for _, r := range part {
			for i, p := range r {
				es = append(es, edge{p, r[(i+1)%len(r)]})
			}
		}
	}
	return es
}

// directed maps each directed edge of a set of districts to its district, and fails on an edge that
// occurs twice.
func directed(t *testing.T, fences []fence.Fence) map[edge]int {
	t.Helper()
	owners := map[edge]int{}
	for i, f := range fences {
		for _, e := range edgesOf(f.Geometry) {
			if e.a == e.b {
				t.Fatalf("%s has an edge of no length at %v", f.Key, e.a)
			}
			if _, twice := owners[e]; twice {
				t.Fatalf("edge %v twice in the same direction", e)
			}
			owners[e] = i
		}
	}
	return owners
}

// shores are the edges that occur once.
func shores(owners map[edge]int) (single []edge) {
	for e := range owners {
		if _, shared := owners[edge{e.b, e.a}]; !shared {
			single = append(single, e)
		}
	}
	return single
}

// TestSharedEdgesAreEqual: each edge occurs once in each direction, in different
// districts, but for the shores. These form closed lines with land on
// their left, around which there is nothing but sea: an unfilled hole would be a
// line that runs clockwise.
func TestSharedEdgesAreEqual(t *testing.T) {
	for seed := range uint64(3) {
		owners := directed(t, cityOf(t, seed).set(t, "districts"))
		for e, i := range owners {
			if j, shared := owners[edge{e.b, e.a}]; shared && i == j {
				t.Fatalf("seed %d: district %d on both sides of %v", seed, i, e)
			}
		}
		next := map[geometry.Point]geometry.Point{}
		for _, e := range shores(owners) {
			if _, twice := next[e.a]; twice {
				t.Fatalf("seed %d: two shores meet at %v", seed, e.a)
			}
			next[e.a] = e.b
		}
		rings := 0
		for len(next) > 0 {
			var ring []vec
			var at geometry.Point
			for at = range next {
				break
			}
			for to, ok := next[at]; ok; to, ok = next[at] {
				ring = append(ring, plane(at))
				delete(next, at)
				at = to
			}
			rings++
			if area(ring) <= 0 {
				t.Errorf("seed %d: a hole of %.0f m² at %v that nobody fills", seed, -area(ring), at)
			}
		}
		t.Logf("seed %d: %d edges, %d shores", seed, len(owners), rings)
		if rings < 4 || rings > 60 {
			t.Errorf("seed %d: %d landmasses", seed, rings)
		}
	}
}

// TestNoEdgesCross compares all pairs of edges that are near each other. Where
// nothing crosses, every ring is simple and no two districts overlap.
func TestNoEdgesCross(t *testing.T) {
	for seed := range uint64(3) {
		type cell struct{ x, y int }
		const size = 0.002
		cells := map[cell][]edge{}
		for _, f := range cityOf(t, seed).set(t, "districts") {
			for _, e := range edgesOf(f.Geometry) {
				for x := int(math.Floor(min(e.a.Lon, e.b.Lon) / size)); x <= int(math.Floor(max(e.a.Lon, e.b.Lon)/size)); x++ {
					for y := int(math.Floor(min(e.a.Lat, e.b.Lat) / size)); y <= int(math.Floor(max(e.a.Lat, e.b.Lat)/size)); y++ {
						cells[cell{x, y}] = append(cells[cell{x, y}], e)
					}
				}
			}
		}
		for _, es := range cells {
			for i, e := range es {
				for _, g := range es[:i] {
					if e.a == g.a || e.a == g.b || e.b == g.a || e.b == g.b {
						continue
					}
					if _, _, hit := intersect(plane(e.a), plane(e.b), plane(g.a), plane(g.b)); hit {
						t.Errorf("seed %d: %v crosses %v", seed, e, g)
					}
				}
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range cityOf(t, 1).set(t, "districts") {
		var p districtProperties
		if err := json.Unmarshal(f.Properties, &p); err != nil {
			t.Fatal(err)
		}
		if seen[p.Name] || p.Name == "" || p.AreaKm2 <= 0 {
			t.Errorf("%s: %+v", f.Key, p)
		}
		seen[p.Name] = true
	}
}

// owners indexes the districts by box, for the test of owners below.
type owners struct {
	fences []fence.Fence
	boxes  []geometry.Box
}

func newOwners(fences []fence.Fence) *owners {
	o := &owners{fences: fences}
	for _, f := range fences {
		o.boxes = append(o.boxes, f.Geometry.Bounds())
	}
	return o
}

func (o *owners) of(p geometry.Point) (keys []int) {
	for i, b := range o.boxes {
		if b.Contains(p) && o.fences[i].Geometry.Contains(p) {
			keys = append(keys, i)
		}
	}
	return keys
}

// TestOneOwner asks for the owners of shared vertices, of the midpoints of
// shared edges, and of places anywhere.
func TestOneOwner(t *testing.T) {
	ds := cityOf(t, 1).set(t, "districts")
	o := newOwners(ds)
	edges := directed(t, ds)
	single := shores(edges)
	onShore := map[geometry.Point]bool{}
	for _, e := range single {
		onShore[e.a] = true
	}
	rng := stream(1, "test")
	for range 3000 {
		e := pick(rng, edgesOf(pick(rng, ds).Geometry))
		middle := geometry.Point{Lon: (e.a.Lon + e.b.Lon) / 2, Lat: (e.a.Lat + e.b.Lat) / 2}
		_, shared := edges[edge{e.b, e.a}]
		if n := len(o.of(middle)); n > 1 || shared && n != 1 {
			t.Errorf("the middle %v of an edge has %d owners; shared: %v", middle, n, shared)
		}
		if n := len(o.of(e.a)); n > 1 || !onShore[e.a] && n != 1 {
			t.Errorf("vertex %v has %d owners; on the shore: %v", e.a, n, onShore[e.a])
		}
	}
	box, land := boundsOf(cityOf(t, 1)), 0
	for range 2000 {
		p := geometry.Point{Lon: lerp(box.MinLon, box.MaxLon, rng.Float64()), Lat: lerp(box.MinLat, box.MaxLat, rng.Float64())}
		want := 0
		for _, e := range single { // by the parity of the shores that a ray crosses
			if (e.a.Lat > p.Lat) != (e.b.Lat > p.Lat) && p.Lon < e.a.Lon+(e.b.Lon-e.a.Lon)*(p.Lat-e.a.Lat)/(e.b.Lat-e.a.Lat) {
				want = 1 - want
			}
		}
		land += want
		if n := len(o.of(p)); n != want {
			t.Errorf("%v has %d owners, want %d", p, n, want)
		}
	}
	if land < 500 {
		t.Errorf("only %d of 2,000 places on land", land)
	}
}

// boundsOf returns the smallest box around all fences, in degrees WGS84.
func boundsOf(c *City) geometry.Box {
	box := geometry.EmptyBox()
	for _, set := range c.sets {
		for _, f := range set.Fences {
			box = box.Union(f.Geometry.Bounds())
		}
	}
	return box
}
