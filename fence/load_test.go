package fence_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"paddock/fence"
	"paddock/fence/geojson"
)

// cityDir holds real data; it is not part of the project.
const cityDir = "../../shared/data/nyc"

func dir(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

func TestLoadDir(t *testing.T) {
	points := collection(feature(`"geometry":{"type":"Point","coordinates":[1,2]}`))
	catalog, report, err := fence.LoadDir(dir(map[string]string{
		"nyc_census 2010.tracts.geojson": collection(polygon(ring1), polygon(`[[0,0],[4,0],[4,4]]`)),
		"B.JSON":                         "not read, its name ends in capitals",
		"stops.json":                     points,
		"json":                           poly1,
		"notes.txt":                      "not read",
		"below/more.json":                "not read",
		"dir.json/x.json":                "not read",
	}), fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"json", "nyc-census-2010-tracts", "stops"}; !slices.Equal(catalog.Names(), want) {
		t.Errorf("got %q", catalog.Names())
	}
	tracts, _ := catalog.Get("nyc-census-2010-tracts")
	if snap := tracts.Snapshot(); snap.Len() != 2 || snap.Generation() != 1 {
		t.Errorf("%d fences, generation %d", snap.Len(), snap.Generation())
	}
	want := `json: 1 fences, 1 parts, 4 edges
nyc-census-2010-tracts: 2 fences, 2 parts, 7 edges, 1 findings
  nyc_census 2010.tracts.geojson: feature 1 "1": unclosed-ring: ring 0: the last position is not the first, at 4,4
stops: 0 fences, 0 parts, 0 edges, 1 features skipped, 1 findings
  stops.json: feature 0: not-polygon: a Point has no area
`
	if got := report.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if report.Findings() != 2 {
		t.Errorf("%d findings", report.Findings())
	}
}

func TestReportIsBounded(t *testing.T) {
	points := slices.Repeat([]string{feature(`"geometry":null`)}, 100)
	_, report, err := fence.LoadDir(dir(map[string]string{"a.json": collection(points...)}), fence.Options{Limits: geojson.Limits{Findings: 90}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	report.Log(slog.New(slog.NewTextHandler(&log, nil)))
	if got := log.String(); strings.Count(got, "msg=finding") != 7 || !strings.Contains(got, "findings=100") || !strings.Contains(got, "and 85 more no-geometry") {
		t.Errorf("logged\n%s", got)
	}
	got := report.String()
	if strings.Count(got, "\n") != 8 || !strings.Contains(got, "and 85 more no-geometry\n") || !strings.Contains(got, "and 10 more findings, not kept\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestLoadDirRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  error
		text  string
	}{
		"nothing":              {map[string]string{"a.txt": ""}, fence.ErrNoSets, "*json"},
		"same slug":            {map[string]string{"a b.json": poly1, "A_b.geojson": poly1}, fence.ErrExists, `A_b.geojson and a b.json are both named "a-b"`},
		"no slug":              {map[string]string{"-.json": poly1}, fence.ErrName, "-.json"},
		"no GeoJSON":           {map[string]string{"a.json": "{}"}, geojson.ErrNotGeoJSON, "a.json"},
		"broken":               {map[string]string{"a.json": poly1, "b.json": `{"type":}`}, nil, "b.json:1:9: unexpected '}'"},
		"two broken":           {map[string]string{"a.json": poly1, "b.json": "?", "c.json": poly1, "d.json": "!", "d .json": poly1}, nil, "b.json:1:1: unexpected '?'"},
		"broken and same slug": {map[string]string{"a.json": "?", "b.json": poly1, "b_.json": poly1}, nil, "a.json:1:1: unexpected '?'"},
		"no slug and broken":   {map[string]string{"-.json": poly1, "b.json": "?"}, fence.ErrName, "-.json"},
		"empty":                {map[string]string{"a.json": ""}, nil, "a.json:1:1: unexpected end"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, err := fence.LoadDir(dir(tc.files), fence.Options{})
			if c != nil || err == nil || !strings.Contains(err.Error(), tc.text) {
				t.Fatalf("got %v, %v", c, err)
			}
			if tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && !errors.As(err, new(*geojson.SyntaxError)) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, _, err := fence.LoadDir(os.DirFS("no such directory"), fence.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, _, err := fence.LoadDir(dir(map[string]string{"a.json": poly1}), fence.Options{Kind: "x"}); !errors.Is(err, fence.ErrKind) {
		t.Errorf("no kind: %v", err)
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"nyc_census 2010.tracts": "nyc-census-2010-tracts",
		"a":                      "a", "": "", "--": "", "A__B": "a-b", "_x_": "x", "Ünï": "n", "zone-7": "zone-7",
	} {
		if got := fence.Slug(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// loadedCity returns the real sets with indexes of the default kind. Its callers share them, and do
// not edit them.
var loadedCity = sync.OnceValues(func() (*fence.Catalog, error) {
	catalog, _, err := fence.LoadDir(os.DirFS(cityDir), fence.Options{})
	return catalog, err
})

// sharedCity returns the city. It skips the test where there is none.
func sharedCity(tb testing.TB) *fence.Catalog {
	tb.Helper()
	if _, err := os.Stat(cityDir); err != nil {
		tb.Skipf("no real data: %v", err)
	}
	catalog, err := loadedCity()
	if err != nil {
		tb.Fatal(err)
	}
	return catalog
}

func loadCity(tb testing.TB, kind fence.Kind) *fence.Catalog {
	tb.Helper()
	if _, err := os.Stat(cityDir); err != nil {
		tb.Skipf("no real data: %v", err)
	}
	catalog, report, err := fence.LoadDir(os.DirFS(cityDir), fence.Options{Kind: kind})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("\n%s", report)
	return catalog
}
