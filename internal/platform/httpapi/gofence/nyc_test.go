package gofence_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/internal/platform/httpapi/gofence"
)

// nycDir holds real data that is not part of the project.
const nycDir = "../../../../../shared/data/nyc"

func nyc(t testing.TB) fs.FS {
	t.Helper()
	if _, err := os.Stat(nycDir); err != nil {
		t.Skipf("no real data: %v", err)
	}
	return os.DirFS(nycDir)
}

// nycCatalog loads the real data once for all tests; none may change it.
func nycCatalog(t testing.TB) *fence.Catalog {
	t.Helper()
	nyc(t)
	c, err := loadNYC()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var loadNYC = sync.OnceValues(func() (*fence.Catalog, error) {
	c, _, err := fence.LoadDir(os.DirFS(nycDir), fence.Options{})
	return c, err
})

// bodies returns each point feature of the directory as a text of one line.
func bodies(t testing.TB, fsys fs.FS) []string {
	t.Helper()
	files, err := fs.Glob(fsys, "*json")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Features []json.RawMessage }
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		for _, f := range doc.Features {
			var point struct {
				Geometry struct{ Type string } `json:"geometry"`
			}
			if json.Unmarshal(f, &point) == nil && point.Geometry.Type == "Point" {
				lines = append(lines, strings.ReplaceAll(string(f), "\n", " "))
			}
		}
	}
	return lines
}

type answer struct {
	Fences []map[string]any `json:"fences"`
}

// The museums of the original's own tests: two in Manhattan, one elsewhere. Each set of areas that
// covers the city holds the first two once.
func TestMuseums(t *testing.T) {
	c := nycCatalog(t)
	h := gofence.New(c, gofence.Options{})
	for _, museum := range []struct {
		name     string
		lat, lon float64
		fences   int
	}{
		{"guggenheim", 40.7830, -73.9590, 1},
		{"old whitney", 40.7732, -73.9641, 1},
		{"louvre", 48.8611, 2.3364, 0},
	} {
		for set := range c.All() {
			if set.Snapshot().Len() == 0 {
				continue // a file of points
			}
			text := get(h, fmt.Sprintf("/fence/%s/search?lat=%v&lon=%v", set.Name(), museum.lat, museum.lon))
			var a answer
			if err := json.Unmarshal([]byte(text), &a); err != nil || len(a.Fences) != museum.fences {
				t.Errorf("%s in %s: %v, %s", museum.name, set.Name(), err, text)
			}
		}
	}
}

// writeBodies writes the file that testdata/bodies.lua reads.
func writeBodies(t testing.TB, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bodies.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
