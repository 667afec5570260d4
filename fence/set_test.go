package fence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

func at(lon, lat, size float64) geometry.MultiPolygon {
	return geometry.MultiPolygon{{square(lon, lat, size)}}
}

func mustSet(t *testing.T, o fence.Options) *fence.Set {
	t.Helper()
	s, err := fence.NewSet("test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Settle)
	return s
}

func TestNewSet(t *testing.T) {
	if _, err := fence.NewSet("", fence.Options{}); !errors.Is(err, fence.ErrName) {
		t.Errorf("no name: %v", err)
	}
	if _, err := fence.NewSet("x", fence.Options{Kind: "x"}); !errors.Is(err, fence.ErrKind) {
		t.Errorf("no kind: %v", err)
	}
	s := mustSet(t, fence.Options{})
	if s.Name() != "test" || s.Kind() != fence.DefaultKind || s.Snapshot().Generation() != 0 {
		t.Errorf("%s, %s, generation %d", s.Name(), s.Kind(), s.Snapshot().Generation())
	}
}

func TestAddNeverReplaces(t *testing.T) {
	s := mustSet(t, fence.Options{IDProperty: "code"})
	var keys []string
	for _, f := range []fence.Fence{
		{Key: "a"},
		{Key: "a"},
		{ID: json.RawMessage(`"a"`)},
		{ID: json.RawMessage(`17`)},
		{Properties: json.RawMessage(`{"code":"c"}`)},
		{},
		{Key: "a~2"},
	} {
		f.Geometry = at(0, 0, 1)
		key, snap, err := s.Add(f)
		if err != nil || snap != s.Snapshot() {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if want := []string{"a", "a~2", "a~3", "17", "c", "5", "a~2~2"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
	snap := s.Snapshot()
	if got := snap.Append(nil, 0.5, 0.5); len(got) != 7 || snap.Generation() != 7 {
		t.Errorf("%v at generation %d", got, snap.Generation())
	}
	for i, k := range keys {
		if r, ok := snap.Lookup(k); !ok || r != fence.Ref(i) || snap.Fence(r).Key != k {
			t.Errorf("%q has ref %d, %v", k, r, ok)
		}
	}
	if got := len(snap.Findings()); got != 3 {
		t.Errorf("findings %v", snap.Findings())
	}
}

func TestPutKeepsRef(t *testing.T) {
	s := mustSet(t, fence.Options{})
	for i, k := range []string{"a", "b", "c", "b"} {
		created, snap, err := s.Put(fence.Fence{Key: k, Geometry: at(float64(i), 0, 1)})
		if err != nil || created != (i < 3) || snap.Generation() != uint64(i+1) {
			t.Fatalf("%q: %v, %v", k, created, err)
		}
	}
	snap := s.Snapshot()
	if got := snap.Append(nil, 3.5, 0.5); !slices.Equal(got, []fence.Ref{1}) {
		t.Errorf("where b is now: %v", got)
	}
	if got := snap.Append(nil, 1.5, 0.5); len(got) != 0 {
		t.Errorf("where b was: %v", got)
	}
	if got := snap.Bounds(); got != (geometry.Box{MinLon: 0, MinLat: 0, MaxLon: 4, MaxLat: 1}) {
		t.Errorf("bounds %v", got)
	}
	if _, _, err := s.Put(fence.Fence{Geometry: at(0, 0, 1)}); !errors.Is(err, fence.ErrNoKey) {
		t.Errorf("no key: %v", err)
	}
}

func TestDeletedRefsAreNotUsedAgain(t *testing.T) {
	s := mustSet(t, fence.Options{})
	for i := range 600 { // more than a page of refs
		key, _, err := s.Add(fence.Fence{Key: "x", Geometry: at(0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		before := s.Snapshot()
		ref, _ := before.Lookup(key)
		if ref != fence.Ref(i) {
			t.Fatalf("the %d-th has ref %d", i, ref)
		}
		snap, ok := s.Delete(key)
		if !ok || snap.Fence(ref) != nil || snap.Len() != 0 || before.Fence(ref) == nil {
			t.Fatalf("after deletion: %v, %d fences", ok, snap.Len())
		}
	}
	if snap, ok := s.Delete("x"); ok || snap != s.Snapshot() {
		t.Error("deleted what is not there")
	}
	if b := s.Snapshot().Bounds(); !b.Empty() {
		t.Errorf("bounds %v", b)
	}
	if s.Snapshot().Fence(math.MaxUint32) != nil {
		t.Error("a ref that never was has a fence")
	}
}

func TestReplaceKeepsRefsOfKeys(t *testing.T) {
	s := mustSet(t, fence.Options{})
	load := func(keys ...string) *fence.Snapshot {
		c := &geojson.Collection{}
		for _, k := range keys {
			c.Fences = append(c.Fences, fence.Fence{Key: k, Geometry: at(0, 0, 1)})
		}
		snap, err := s.Replace(c)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	load("a", "b", "c")
	snap := load("d", "c", "a", "a")
	var got []string
	for r, f := range snap.All() {
		got = append(got, fmt.Sprintf("%d %s", r, f.Key))
	}
	if want := []string{"0 a", "2 c", "3 d", "4 a~2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, ok := snap.Lookup("b"); ok || snap.Generation() != 2 || snap.Len() != 4 {
		t.Errorf("generation %d, %d fences", snap.Generation(), snap.Len())
	}
	if again := load("d", "c", "a", "a"); again.Fence(4) == nil || again.Fence(4).Key != "a~2" || again.Len() != 4 {
		t.Errorf("the same again gives other keys: %v", again.Findings())
	}
	if fs := snap.Findings(); len(fs) != 1 || fs[0].Key != "a~2" || fs[0].Feature != 3 {
		t.Errorf("findings %v", fs)
	}
}

func TestSetsRefuseBadFences(t *testing.T) {
	bad := map[string]struct {
		area geometry.MultiPolygon
		code geojson.Code
	}{
		"none":      {nil, geojson.CodeNoArea},
		"no ring":   {geometry.MultiPolygon{{}}, geojson.CodeNoArea},
		"a line":    {geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 1}, {Lon: 2, Lat: 2}}}}, geojson.CodeNoArea},
		"NaN":       {geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: math.NaN(), Lat: 1}, {Lon: 2, Lat: 2}}}}, geojson.CodeOutOfRange},
		"infinity":  {geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 1, Lat: math.Inf(-1)}, {Lon: 2, Lat: 2}}}}, geojson.CodeOutOfRange},
		"longitude": {geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 180.0000001, Lat: 1}, {Lon: 2, Lat: 2}}}}, geojson.CodeOutOfRange},
	}
	s := mustSet(t, fence.Options{})
	for name, tc := range bad {
		_, _, addErr := s.Add(fence.Fence{Geometry: tc.area})
		_, _, putErr := s.Put(fence.Fence{Key: "k", Geometry: tc.area})
		_, repErr := s.Replace(&geojson.Collection{Fences: []fence.Fence{{Geometry: at(0, 0, 1)}, {Geometry: tc.area}}})
		for _, err := range []error{addErr, putErr, repErr} {
			if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Code != tc.code {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if g := s.Snapshot().Generation(); g != 0 {
		t.Errorf("generation %d", g)
	}
}

func TestStrictSetRefuses(t *testing.T) {
	bowtie := geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 4, Lat: 4}, {Lon: 4, Lat: 0}, {Lon: 0, Lat: 4}}}}
	if _, snap, err := mustSet(t, fence.Options{}).Add(fence.Fence{Geometry: bowtie}); err != nil || len(snap.Findings()) != 1 {
		t.Errorf("lenient: %v", err)
	}
	_, _, err := mustSet(t, fence.Options{Strict: true}).Add(fence.Fence{Key: "k", Geometry: bowtie})
	if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Code != geojson.CodeSelfCrossing || e.Finding.Key != "k" {
		t.Errorf("strict: %v", err)
	}
	made := func() *geojson.Collection {
		return &geojson.Collection{Fences: []fence.Fence{{Geometry: at(0, 0, 1)}, {Geometry: bowtie}}}
	}
	_, err = mustSet(t, fence.Options{Strict: true}).Replace(made())
	if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Feature != 1 {
		t.Errorf("strict, replaced: %v", err)
	}
	snap, err := mustSet(t, fence.Options{}).Replace(made())
	if err != nil || len(snap.Findings()) != 1 || snap.Findings()[0].Key != "1" || snap.Findings()[0].Feature != 1 {
		t.Errorf("lenient, replaced: %v", err)
	}
}

// TestFindingsGoWithTheirFence: replacing a defective fence by a good one clears its findings.
func TestFindingsGoWithTheirFence(t *testing.T) {
	c := read(t, collection(polygon(ring1), polygon(`[[0,0],[4,0],[4,4]]`), feature(`"geometry":null`)), geojson.ReadOptions{})
	s := mustSet(t, fence.Options{})
	snap, err := s.Replace(c)
	if err != nil || len(snap.Findings()) != 2 {
		t.Fatalf("%v, %v", snap.Findings(), err)
	}
	if _, snap, err = s.Put(fence.Fence{Key: "1", Geometry: at(0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	if fs := snap.Findings(); len(fs) != 1 || fs[0].Code != geojson.CodeNoGeometry {
		t.Errorf("got %v", fs)
	}
}

// TestReadersNeverWait runs readers beside a writer. Every snapshot must be consistent in
// itself: fence i is a square around i that is there or not, and may carry any generation.
func TestReadersNeverWait(t *testing.T) {
	t.Parallel()
	for _, kind := range fence.Kinds() {
		s := mustSet(t, fence.Options{Kind: kind})
		done := make(chan struct{})
		var readers sync.WaitGroup
		for range 3 {
			readers.Go(func() {
				var refs []fence.Ref
				for last := uint64(0); ; {
					snap := s.Snapshot()
					if snap.Generation() < last {
						t.Errorf("generation %d after %d", snap.Generation(), last)
					}
					last = snap.Generation()
					n := 0
					for r, f := range snap.All() {
						refs = snap.Append(refs[:0], f.Geometry[0][0][0].Lon+0.5, 0.5)
						if !slices.Contains(refs, r) {
							t.Errorf("ref %d is not where it is", r)
						}
						n++
					}
					if n != snap.Len() || n != snap.Stats().Fences {
						t.Errorf("%d fences, Len %d", n, snap.Len())
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		rng := rand.New(rand.NewPCG(25, 26))
		for range 400 / sampling.Slowdown {
			key := fmt.Sprint(rng.IntN(100))
			if rng.IntN(3) == 0 {
				s.Delete(key)
			} else if _, _, err := s.Put(fence.Fence{Key: key, Geometry: at(float64(rng.IntN(100)), 0, 1)}); err != nil {
				t.Error(err)
			}
		}
		close(done)
		readers.Wait()
	}
}

func TestManyKeys(t *testing.T) {
	t.Parallel()
	s := mustSet(t, fence.Options{})
	const n = 3000
	for i := range n {
		if _, _, err := s.Put(fence.Fence{Key: fmt.Sprint("k", i), Geometry: at(float64(i%60), float64(i/60), 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < n; i += 2 {
		s.Delete(fmt.Sprint("k", i))
	}
	snap := s.Snapshot()
	for i := range n {
		r, ok := snap.Lookup(fmt.Sprint("k", i))
		if ok != (i%2 == 1) || (ok && r != fence.Ref(i)) {
			t.Fatalf("k%d: %d, %v", i, r, ok)
		}
	}
}

func TestSnapshotWriteGeoJSON(t *testing.T) {
	s := mustSet(t, fence.Options{})
	for range 2 {
		if _, _, err := s.Add(fence.Fence{ID: json.RawMessage(`7`), Properties: json.RawMessage(`{"a":1}`), Geometry: at(0, 0, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := s.Snapshot().WriteGeoJSON(&b); err != nil {
		t.Fatal(err)
	}
	const f = `{"type":"Feature","id":"%s","properties":{"a":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`
	want := "{\"type\":\"FeatureCollection\",\"features\":[\n" + fmt.Sprintf(f, "7") + ",\n" + fmt.Sprintf(f, "7~2") + "\n]}\n"
	if b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
	b.Reset()
	if err := mustSet(t, fence.Options{}).Snapshot().WriteGeoJSON(&b); err != nil || !json.Valid([]byte(b.String())) {
		t.Errorf("empty set: %s, %v", b.String(), err)
	}
}

func TestCatalog(t *testing.T) {
	var c fence.Catalog
	if _, ok := c.Get("a"); ok || c.Len() != 0 || len(c.Names()) != 0 || c.Remove("a") {
		t.Error("the zero catalog is not empty")
	}
	for _, name := range []string{"b", "c", "a"} {
		s, err := fence.NewSet(name, fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(s); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(s); !errors.Is(err, fence.ErrExists) {
			t.Errorf("added twice: %v", err)
		}
	}
	var names []string
	for s := range c.All() {
		names = append(names, s.Name())
		c.Remove("b") // while iterating: that goes on over the sets as it found them
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) || !slices.Equal(c.Names(), []string{"a", "c"}) {
		t.Errorf("got %q, then %q", names, c.Names())
	}
}

// A feature that gave no fence is told of, also if it has an id.
func TestFindingsOfSkippedFeaturesStay(t *testing.T) {
	c, err := geojson.ReadGeoJSON(strings.NewReader(`{"type":"FeatureCollection","features":[
		{"type":"Feature","id":"p","properties":null,"geometry":{"type":"Point","coordinates":[1,2]}},
		{"type":"Feature","id":"q","properties":null,"geometry":null}]}`), "points", geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := fence.NewSet("points", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Replace(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range snap.Findings() {
		got = append(got, f.Key+" "+string(f.Code))
	}
	if want := []string{"p not-polygon", "q no-geometry"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
