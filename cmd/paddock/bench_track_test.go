package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// squareZone writes a set of one fence of a degree.
func squareZone(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zone.geojson"), []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},
		"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bench track measures a platform of each policy through each door, and writes the summary.
func TestBenchTrackThroughDoors(t *testing.T) {
	t.Parallel()
	summary := filepath.Join(t.TempDir(), "track.json")
	cmd := program(t, "bench", "track", "--sets", squareZone(t), "--vehicles", "0", "--door", "wire,http,bus", "--dir", t.TempDir(),
		"--rounds", "1", "-d", "50ms", "--objects", "60", "--batch", "10", "--json", "-q", "--summary", summary)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(cmd.Path)) // without a peer
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, string(out))
	}
	type figures struct {
		Missing string
		Doors   []struct {
			Policy, Door string
			Rate         struct{ Median float64 } `json:"positions_per_second"`
		}
	}
	var printed figures
	var written struct {
		Report  figures
		Machine struct{ Cores int }
		Command []string
		Ratios  []struct{ Contender, Base string }
	}
	text, err := os.ReadFile(summary)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		t.Fatal(err)
	}
	for _, f := range []figures{printed, written.Report} {
		var rows []string
		for _, d := range f.Doors {
			if rows = append(rows, d.Door+" "+d.Policy); d.Rate.Median <= 0 {
				t.Errorf("%+v", d)
			}
		}
		if got := strings.Join(rows, ", "); got != "wire raw, http raw, bus raw, wire steady, http steady, bus steady" || !strings.Contains(f.Missing, "tile38-server") {
			t.Errorf("%s; %s", got, f.Missing)
		}
	}
	if r := written.Ratios; len(r) != 3 || r[2].Contender != "bus, steady" || r[2].Base != "bus, raw" || written.Machine.Cores < 1 || written.Command[0] != "paddock" {
		t.Errorf("%s", text)
	}
}

// Doors that are not there, and numbers out of their bounds, are refused before anything starts.
func TestBenchTrackRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{{"--door", "tcp"}, {"--door", "bus,bus"}, {"--conns", "0"}, {"--vehicles", "-1"}} {
		cmd := program(t, append([]string{"bench", "track"}, c...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), c[0]) {
			t.Errorf("%v: %v, %s", c, err, out)
		}
	}
}
