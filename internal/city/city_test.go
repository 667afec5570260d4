package city

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"testing"

	"paddock/fence"
)

// cityOf builds each city once for all tests.
var cityOf = func() func(uint64) *City {
	var mu sync.Mutex
	built := map[uint64]*City{}
	return func(seed uint64) *City {
		mu.Lock()
		defer mu.Unlock()
		if built[seed] == nil {
			built[seed] = New(Config{Seed: seed})
		}
		return built[seed]
	}
}()

func (c *City) set(t *testing.T, name string) []fence.Fence {
	t.Helper()
	i := slices.IndexFunc(c.sets, func(s SetData) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no set %q", name)
	}
	return c.sets[i].Fences
}

// digest hashes every key, property and coordinate.
func digest(c *City) string {
	h := sha256.New()
	for _, set := range c.Sets() {
		for _, f := range set.Fences {
			h.Write(f.ID)
			h.Write(f.Properties)
			for _, part := range f.Geometry {
				for _, ring := range part {
					binary.Write(h, binary.LittleEndian, ring)
				}
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestDistrictCounts(t *testing.T) {
	for seed := range uint64(3) {
		c := cityOf(seed)
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

type edge struct{ a, b fence.Point }

func edgesOf(mp fence.MultiPolygon) (es []edge) {
	for _, part := range mp {
		for _, r := range part {
			for i, p := range r {
				es = append(es, edge{p, r[(i+1)%len(r)]})
			}
		}
	}
	return es
}

func TestSharedEdgesAreEqual(t *testing.T) {
	for seed := range uint64(3) {
		owners := map[edge]int{}
		for i, f := range cityOf(seed).set(t, "districts") {
			for _, e := range edgesOf(f.Geometry) {
				if e.a == e.b {
					t.Fatalf("seed %d: %s has an edge of no length at %v", seed, f.Key, e.a)
				}
				if _, twice := owners[e]; twice {
					t.Fatalf("seed %d: edge %v twice in the same direction", seed, e)
				}
				owners[e] = i
			}
		}
		single := 0
		for e, i := range owners {
			j, shared := owners[edge{e.b, e.a}]
			if shared && i == j {
				t.Fatalf("seed %d: district %d on both sides of %v", seed, i, e)
			}
			if !shared {
				single++
			}
		}
		t.Logf("seed %d: %d edges, %d of them on the shore", seed, len(owners), single)
		if single > len(owners)/3 {
			t.Errorf("seed %d: %d of %d edges have one side", seed, single, len(owners))
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
		for _, f := range cityOf(seed).set(t, "districts") {
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

func TestReadsBackWithoutFindings(t *testing.T) {
	dir := t.TempDir()
	c := cityOf(1)
	if err := c.WriteGeoJSON(dir); err != nil {
		t.Fatal(err)
	}
	for _, set := range c.Sets() {
		var buf bytes.Buffer
		if err := fence.WriteGeoJSON(&buf, pointers(set.Fences)); err != nil {
			t.Fatal(err)
		}
		got, err := fence.ReadGeoJSON(&buf, set.Name, fence.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Findings {
			t.Errorf("%s: %v", set.Name, f)
		}
		if len(got.Fences) != len(set.Fences) {
			t.Errorf("%s: %d of %d fences read back", set.Name, len(got.Fences), len(set.Fences))
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range cityOf(1).set(t, "districts") {
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
	boxes  []fence.Box
}

func newOwners(fences []fence.Fence) *owners {
	o := &owners{fences: fences}
	for _, f := range fences {
		o.boxes = append(o.boxes, f.Geometry.Bounds())
	}
	return o
}

func (o *owners) of(p fence.Point) (keys []int) {
	for i, b := range o.boxes {
		if b.Contains(p) && o.fences[i].Geometry.Contains(p) {
			keys = append(keys, i)
		}
	}
	return keys
}

// TestOneOwner asks for the owners of vertices, of midpoints and of places
// inside. No place has two; a shared vertex or midpoint has one.
func TestOneOwner(t *testing.T) {
	ds := cityOf(1).set(t, "districts")
	o := newOwners(ds)
	rng := stream(1, "test")
	count := map[fence.Point]int{}
	for _, f := range ds {
		for _, e := range edgesOf(f.Geometry) {
			count[e.a]++
		}
	}
	shared, none := 0, 0
	for range 6000 {
		es := edgesOf(pick(rng, ds).Geometry)
		e := pick(rng, es)
		for _, p := range []fence.Point{e.a, {Lon: (e.a.Lon + e.b.Lon) / 2, Lat: (e.a.Lat + e.b.Lat) / 2}} {
			n := len(o.of(p))
			if n > 1 {
				t.Errorf("%v has %d owners", p, n)
			}
			if n == 0 {
				none++
			}
		}
		if count[e.a] > 1 {
			shared++
		}
	}
	t.Logf("%d vertices shared, %d points without an owner", shared, none)
	if shared < 1000 || none > 2000 {
		t.Errorf("%d vertices shared, %d points without an owner", shared, none)
	}
}
