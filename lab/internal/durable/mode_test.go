package durable

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock/lab/internal/doors"
)

// A node gets the sets that the other platforms read from the directory.
func TestPutSets(t *testing.T) {
	var got []string
	node := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Method+" "+r.URL.Path) }))
	defer node.Close()
	m := &mode{Platform: &doors.Platform{HTTP: strings.TrimPrefix(node.URL, "http://")}, b: &bench{}}
	m.b.Sets = t.TempDir()
	for _, name := range []string{"zones.json", "Low Bridges.geojson", "rules.yaml"} {
		if err := os.WriteFile(filepath.Join(m.b.Sets, name), []byte(`{"type":"FeatureCollection","features":[]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(m.b.Sets, "old.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := m.putSets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"PUT /v1/sets/low-bridges", "PUT /v1/sets/zones"}; !slices.Equal(got, want) {
		t.Errorf("the node got %q, want %q", got, want)
	}
}
