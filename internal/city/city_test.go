package city

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// cityOf builds each city once for all tests, which look at it with one goroutine.
var cityOf = func() func(testing.TB, uint64) *City {
	var mu sync.Mutex
	built := map[uint64]*City{}
	return func(tb testing.TB, seed uint64) *City {
		sampling.Sequential(tb)
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

// seedOne is the SHA-256 of the city of seed 1: every id, property, coordinate and street, and the
// reports of its vehicles over ten minutes. It changes only with the model, never with the CPU or
// the compiler's options.
const seedOne = "5af814eeb6e57b6b53d54de16dcfacf63255813560321ff0a3c7faced2e5ce4c"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDigest(t *testing.T) {
	c := cityOf(t, 1)
	h := sha256.New()
	put := func(v any) {
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range c.Sets() {
		for _, f := range set.Fences {
			h.Write(f.ID)
			h.Write(f.Properties)
			for _, part := range f.Geometry {
				for _, ring := range part {
					put(ring)
				}
			}
		}
	}
	for class, line := range c.lines() {
		io.WriteString(h, class)
		put(line)
	}
	fleet := c.Fleet()
	var fixes []Fix
	for range 600 {
		fixes = fleet.Step(time.Second, fixes[:0])
	}
	for _, x := range fixes {
		io.WriteString(h, x.ID)
		put([]float64{x.Lon, x.Lat, x.Speed, x.Heading, x.Accuracy})
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != seedOne {
		t.Errorf("the city of seed 1 is %s", got)
	}
}

// TestOtherSizes builds cities much smaller and larger than the default.
func TestOtherSizes(t *testing.T) {
	for _, want := range []int{200, 3000} {
		c := New(Config{Seed: 5, Districts: want, Vehicles: 10})
		if got := len(c.set(t, "districts")); math.Abs(float64(got-want)) > 0.05*float64(want) {
			t.Errorf("%d districts, want about %d", got, want)
		}
		directed(t, c.set(t, "districts"))
		if got := c.Fleet().Step(time.Second, nil); len(got) != 10 {
			t.Errorf("%d fixes of 10 vehicles", len(got))
		}
	}
}

func TestZones(t *testing.T) {
	kinds := map[string]int{}
	holes := 0
	for _, f := range cityOf(t, 1).set(t, "zones") {
		var p zoneProperties
		if err := json.Unmarshal(f.Properties, &p); err != nil {
			t.Fatal(err)
		}
		kinds[p.Kind]++
		holes += len(f.Geometry[0]) - 1
	}
	want := map[string]int{"low-emission": 1, "harbour": 1, "station": 18, "depot": 8, "school": 20, "corridor": 10}
	if !maps.Equal(kinds, want) || holes != 1 {
		t.Errorf("zones %v, %d holes", kinds, holes)
	}
}

// TestWriteGeoJSON writes the sets as files and loads them as a user would.
func TestWriteGeoJSON(t *testing.T) {
	dir := t.TempDir()
	c := cityOf(t, 1)
	if err := c.WriteGeoJSON(dir); err != nil {
		t.Fatal(err)
	}
	catalog, _, err := fence.LoadDir(os.DirFS(dir), fence.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range c.Sets() {
		loaded, ok := catalog.Get(set.Name)
		if !ok {
			t.Fatalf("no set %q", set.Name)
		}
		snap := loaded.Snapshot()
		for _, f := range snap.Findings() {
			t.Errorf("%s: %v", set.Name, f)
		}
		for i := range set.Fences {
			f := &set.Fences[i]
			if ref, ok := snap.Lookup(f.Key); !ok || !reflect.DeepEqual(snap.Fence(ref).Geometry, f.Geometry) {
				t.Fatalf("%s: %s is not as written", set.Name, f.Key)
			}
		}
	}
	if err := c.WriteGeoJSON(filepath.Join(dir, "new", "deep")); err != nil {
		t.Error(err)
	}
	if err := c.WriteGeoJSON(filepath.Join(dir, "districts.geojson")); err == nil {
		t.Error("wrote into a directory that does not exist")
	}
}

var streetClasses = [...]string{shore: "", arterial: "arterial", street: "street", lane: "lane"}

// lines are all streets, each from one junction to another, in
// the same places as the vehicles' fixes but for GPS noise.
func (c *City) lines() iter.Seq2[string, []geometry.Point] {
	return func(yield func(string, []geometry.Point) bool) {
		for _, l := range c.streets.links {
			line := make([]geometry.Point, 0, l.end-l.start)
			for _, p := range c.streets.pos[l.start:l.end] {
				line = append(line, locate(p))
			}
			if !yield(streetClasses[l.class], line) {
				return
			}
		}
	}
}
