package gofence_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/sampling"
	"paddock/lab/internal/gofence"
)

const streets = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"vehicle":"a b"},
 "geometry":{"type":"Point","coordinates":[-73.958606,40.781142]}},
{"type":"Feature","properties":{"radius":50},"geometry":{"type":"Point","coordinates":[1,2]}},
{"type":"Feature","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}},
{"type":"Feature","properties":null,"geometry":null},
{"type":"Feature","properties":null,"geometry":{"type":"Point","coordinates":[-180,-90,3]}}]}`

func TestCorpus(t *testing.T) {
	c, err := gofence.ReadCorpus(fstest.MapFS{
		"streets.geojson": {Data: []byte(streets)},
		"notes.txt":       {Data: []byte("no JSON")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Bodies) != 37_290 || len(c.Positions) != 2 {
		t.Fatalf("%d bodies of %d positions, want 37290 of 2", len(c.Bodies), len(c.Positions))
	}
	third := len(c.Bodies) / 3
	for i, body := range c.Bodies {
		if !bytes.Equal(body, c.Bodies[i%third]) {
			t.Fatalf("body %d is not that of the first round", i)
		}
	}
	given := `{"type":"Feature","properties":{"vehicle":"a b"},"geometry":{"type":"Point","coordinates":[-73.958606,40.781142]}}`
	if !slices.ContainsFunc(c.Bodies, func(b []byte) bool { return string(b) == given }) {
		t.Errorf("no body is the position as it is in the data: %s", given)
	}
	for _, body := range c.Bodies[:third] {
		var f struct {
			Type     string
			Geometry struct {
				Type        string
				Coordinates []float64
			}
		}
		if err := json.Unmarshal(body, &f); err != nil || bytes.ContainsRune(body, '\n') || f.Geometry.Type != "Point" {
			t.Fatalf("%s: %v", body, err)
		}
		at := f.Geometry.Coordinates
		if at[0] < -180 || at[0] > 180 || at[1] < -90 || at[1] > 90 {
			t.Fatalf("%s is nowhere", body)
		}
	}
	again, err := gofence.ParseCorpus(c.Text())
	if err != nil || again.Digest() != c.Digest() {
		t.Errorf("its text gives another corpus: %v", err)
	}
}

// The simulated city and the points around its vehicles are the same on every machine, so that two
// runs anywhere post the same bodies.
func TestTownCorpus(t *testing.T) {
	sampling.Sequential(t)
	dir := t.TempDir()
	if err := gofence.WriteTown(dir); err != nil {
		t.Fatal(err)
	}
	c, err := gofence.ReadCorpus(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	const want = "e19798ab8e7bc3a9e9a854832f19ac0ef7b0f78199eee2a3053b93aa1db9f78a"
	if len(c.Positions) != 1_962 || c.Digest() != want {
		t.Errorf("%d positions, SHA-256 %s; want 1962, %s", len(c.Positions), c.Digest(), want)
	}
}

// The city kinds find few boroughs of the simulated city at a position, one at least, and the
// same fences as without boroughs.
func TestTownParents(t *testing.T) {
	sampling.Sequential(t)
	dir := t.TempDir()
	if err := gofence.WriteTown(dir); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(gofence.TownParents(dir))
	if err != nil {
		t.Fatal(err)
	}
	parents, err := fence.ReadParents(bytes.NewReader(file), "boroughs", geojson.ReadOptions{})
	if err != nil || len(parents) < 5 {
		t.Fatalf("%d parents, %v", len(parents), err)
	}
	set := func(dir, name string, o fence.Options) *fence.Snapshot {
		catalog, _, err := fence.LoadDir(os.DirFS(dir), o)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := catalog.Get(name)
		if !ok || catalog.Len() > 3 {
			t.Fatalf("%s: %v", name, catalog.Names())
		}
		return s.Snapshot()
	}
	boroughs := set(filepath.Dir(gofence.TownParents(dir)), "boroughs", fence.Options{})
	all := set(dir, "districts", fence.Options{Kind: fence.KindBrute})
	grouped := set(dir, "districts", fence.Options{Kind: fence.KindCity, Parents: parents})
	c, err := gofence.ReadCorpus(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, p := range c.Positions {
		got, want := grouped.Append(nil, p.Lon, p.Lat), all.Append(nil, p.Lon, p.Lat)
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("%v: fences %v, want %v", p, got, want)
		}
		held += len(boroughs.Append(nil, p.Lon, p.Lat))
	}
	if n := float64(held) / float64(len(c.Positions)); n < 1 || n > 3 {
		t.Errorf("%.2f boroughs at a position, in the mean", n)
	}
}

func TestNoCorpus(t *testing.T) {
	_, err := gofence.ReadCorpus(fstest.MapFS{"empty.json": {Data: []byte(`{"features":[]}`)}})
	if !errors.Is(err, gofence.ErrNoPositions) {
		t.Errorf("without points: %v", err)
	}
	_, err = gofence.ReadCorpus(fstest.MapFS{"broken.json": {Data: []byte(`{"features":`)}})
	if err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("a broken file: %v", err)
	}
	if _, err := gofence.ParseCorpus([]byte("\n \n")); err == nil {
		t.Error("empty lines are no corpus")
	}
}
