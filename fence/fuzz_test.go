package fence_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// FuzzReadGeoJSON: whatever the bytes, no panic and an error that names the file, or a
// collection that a set takes; and what is written of that reads back to the same answers.
func FuzzReadGeoJSON(f *testing.F) {
	for _, doc := range []string{
		poly1, "", "{}", "[", "\xef\xbb\xbf" + poly1, `{"type":"Topology"}`, polygon(ring1, `[[1,1],[2,1],[2,2]]`),
		collection(polygon(ring1), feature(`"id":"\ud83d\ude00","properties":{"a":[{}]},"geometry":`+poly1)),
		collection("null", feature(`"geometry":null`), polygon(`[[0,0],[1e999,1],[2,0]]`), polygon(`[[0,0,1],[-0,1e-320,2],[180,90]]`)),
		multi(ring1, `[[0,0],[9,9],[9,0],[0,9],[0,0]],[[3,3],[3,3],[8,3],[3,3]]`),
		`{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:2263"}},"features":[]}`,
	} {
		f.Add([]byte(doc), false)
	}
	f.Fuzz(func(t *testing.T, doc []byte, strict bool) {
		o := geojson.ReadOptions{Strict: strict, IDProperty: "a"}
		c, err := geojson.ReadGeoJSON(bytes.NewReader(doc), "f.json", o)
		if err != nil {
			if c != nil || !bytes.HasPrefix([]byte(err.Error()), []byte("f.json:")) {
				t.Fatalf("got %v, %v", c, err)
			}
			return
		}
		if !json.Valid(bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))) {
			t.Fatal("took what is not JSON")
		}
		var out bytes.Buffer
		if err := geojson.WriteGeoJSON(&out, pointers(c.Fences)); err != nil {
			t.Fatal(err)
		}
		again, err := geojson.ReadGeoJSON(&out, "again.json", o)
		if err != nil || len(again.Fences) != len(c.Fences) {
			t.Fatalf("%d fences became %v, %v", len(c.Fences), again, err)
		}
		one, two := mustSet(t, fence.Options{}), mustSet(t, fence.Options{Kind: fence.KindBrute})
		if _, err := one.Replace(c); err != nil {
			t.Fatal(err)
		}
		if _, err := two.Replace(again); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for _, fc := range one.Snapshot().All() {
			for _, p := range some(rng, hardPoints(rng, fc.Geometry), 200) {
				got, want := one.Snapshot().Append(nil, p.Lon, p.Lat), two.Snapshot().Append(nil, p.Lon, p.Lat)
				if !slices.Equal(got, want) {
					t.Fatalf("%v: %v, after writing and reading %v", p, got, want)
				}
			}
		}
	})
}

// FuzzEdits builds a set of random areas, valid or not, edits it, and asks every kind.
func FuzzEdits(f *testing.F) {
	f.Add(uint64(1), uint64(1), 0.5, 0.5)
	f.Add(uint64(2), uint64(9), -180.0, 90.0)
	f.Fuzz(func(t *testing.T, a, b uint64, lon, lat float64) {
		t.Parallel()
		rng := rand.New(rand.NewPCG(a, b))
		var areas []geometry.MultiPolygon
		for range 1 + rng.IntN(80/sampling.Slowdown) {
			areas = append(areas, append(randomArea(rng), geometry.Polygon{square(rng.Float64()*9, 0, 1)}))
		}
		gone := fence.Ref(rng.IntN(len(areas)))
		points := append(some(rng, hardPoints(rng, areas[rng.IntN(len(areas))]), 200), geometry.Point{Lon: lon, Lat: lat})
		var want [][]fence.Ref
		for _, kind := range fence.Kinds() {
			s := newSet(t, kind, areas...)
			s.Delete(s.Snapshot().Fence(gone).Key)
			var answers [][]fence.Ref
			for _, p := range points {
				answers = append(answers, s.Snapshot().Append(nil, p.Lon, p.Lat))
			}
			if want == nil {
				want = answers
				continue
			}
			for i := range want {
				if !slices.Equal(answers[i], want[i]) {
					t.Fatalf("%s, %v: %v, want %v", kind, points[i], answers[i], want[i])
				}
			}
		}
		for i, p := range points[len(points)-1:] {
			var owners []fence.Ref
			for r, area := range areas {
				if fence.Ref(r) != gone && oracleHolds(area, p) {
					owners = append(owners, fence.Ref(r))
				}
			}
			if got := want[len(points)-1+i]; !slices.Equal(got, owners) {
				t.Fatalf("%v: %v, want %v", p, got, owners)
			}
		}
	})
}
