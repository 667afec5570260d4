//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A platform answers the same points by every door.
func TestBenchFenceDoors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	town := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"name":"town"},"geometry":{"type":"Polygon","coordinates":[[[13,52],[14,52],[14,53],[13,53],[13,52]]]}}]}`
	if err := os.WriteFile(filepath.Join(dir, "districts.geojson"), []byte(town), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startUp(t, "up", "--sets", dir, "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")
	defer p.terminate(t)
	bodies := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(bodies, []byte(`{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	checkEndings(t, "bench fence", "-c 2 --allow-red -q --bodies "+bodies, []ending{
		{"http", p.url + "fence/districts/search -n 400", 0, "400 sent, 400 answered"},
		{"http by set", p.url + " --set districts -n 400 --rate 4000/s", 0, "fence/districts/search"},
		{"wire", "wire://" + p.wire + " --set districts --depth 4 -n 400", 0, "400 sent, 400 answered"},
		{"nats", p.bus + " -n 400", 0, "400 sent, 400 answered"},
		{"no such set", p.url + "fence/nowhere/search -n 20 --slo err<1%", 3, "400: 20"},
		{"no such set over wire", "wire://" + p.wire + " --set nowhere", 4, "NOT_FOUND"},
		{"no such set over the bus", p.bus + " --set nowhere -n 20 --slo err<1%", 3, "404: 20"},
		{"nobody there", "wire://127.0.0.1:1 -n 20", 4, "connection refused"},
	})
}
