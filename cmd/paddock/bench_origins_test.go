//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// originsRow is a row of origins.json.
type originsRow struct {
	ID, State, Error string
	Document         map[string]string
	Ours, Peer       *struct {
		Name    string
		Rounds  []map[string]float64
		Figures map[string]float64
	}
	OverPeer     *struct{ Median float64 } `json:"ours_over_peer"`
	OverDocument float64                   `json:"ours_over_document"`
	Lamp         string
}

// originsOf runs the command with --json, and returns its rows and what it said.
func originsOf(t *testing.T, args ...string) (rows []originsRow, said string) {
	t.Helper()
	code, stdout, stderr := outcomeFor(t, 5*time.Minute, append([]string{"bench", "origins", "--json"}, args...)...)
	var report struct{ Rows []originsRow }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	return report.Rows, stderr
}

// Rows of each table are measured with the commands of this program, on files of the caller. A
// later run keeps them.
func TestBenchOrigins(t *testing.T) {
	t.Parallel()
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	zone := `{"type":"FeatureCollection","features":[
		{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}},
		{"type":"Feature","properties":{"vehicle":"v1"},"geometry":{"type":"Point","coordinates":[0.5,0.5]}}]}`
	if err := os.WriteFile(filepath.Join(data, "zone.geojson"), []byte(zone), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--scale", "0.001", "--peers", "none", "--data", data, "--out", out, "--resume"}
	first := "W1,W7,W14,A2,A7,A11,P6,F3,L3,K1,K4,TS1,TS5,TP6"
	rows, _ := originsOf(t, append(args, "--only", first)...)
	var ids []string
	for _, row := range rows {
		ids = append(ids, row.ID) // P6 may have no sample of a look-up in a second
		if row.State != "measured" || row.Ours == nil || len(row.Ours.Rounds) != 1 || row.OverDocument <= 0 && row.ID != "P6" || row.Peer != nil || row.OverPeer != nil {
			t.Errorf("%+v", row)
			continue
		}
		checkColumns(t, row)
		if row.ID == "W7" && row.Ours.Figures["echo"] == 0 {
			t.Errorf("no echo beside %v", row.Ours.Figures)
		}
		if row.Lamp == "" && !strings.Contains("WP", row.ID[:1]) {
			t.Errorf("%s has no verdict", row.ID)
		}
		if files, err := filepath.Glob(filepath.Join(out, row.ID, "paddock-1.json")); err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", row.ID, files, err)
		}
	}
	if got := strings.Join(ids, " "); got != "W1 W7 W14 A2 A7 A11 P6 F3 L3 K1 K4 TS1 TS5 TP6" {
		t.Error(got)
	}
	checkPages(t, out, "goab to nginx, c=20")
	rows, said := originsOf(t, append(args, "--only", "W1,W2,TS1")...)
	if len(rows) != 14+1 || !strings.Contains(said, "14 rows are there already") || strings.Contains(said, "W1 ") || !strings.Contains(said, "W2 ") {
		t.Errorf("%d rows: %s", len(rows), said)
	}
}

// checkColumns checks that a row has the figures of the document.
func checkColumns(t *testing.T, row originsRow) {
	t.Helper()
	for column, printed := range row.Document {
		if _, ok := row.Ours.Figures[column]; !ok && printed != "-" && column != "non2xx" {
			t.Errorf("%s: no %s among %v", row.ID, column, row.Ours.Figures)
		}
	}
}

// checkPages checks that the pages name a row.
func checkPages(t *testing.T, out, row string) {
	t.Helper()
	for _, name := range []string{"origins.md", "origins.html"} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), row) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// A peer takes turns with ours in the table of the broker. The broker that this program is by
// another name stands in for it.
func TestBenchOriginsPeer(t *testing.T) {
	t.Parallel()
	broker, out := filepath.Join(filepath.Dir(plain(t)), otherName), t.TempDir()
	rows, said := originsOf(t, "--scale", "0.02", "--out", out, "--only", "nats", "--peers", "nats-server", "--peer", "nats-server="+broker, "--rounds", "2")
	for _, row := range rows {
		if row.Peer == nil || row.Peer.Name != "nats-server" || len(row.Peer.Rounds) != 2 || len(row.Ours.Rounds) != 2 || row.OverPeer == nil || row.OverPeer.Median <= 0 || row.OverDocument <= 0 {
			t.Errorf("%+v", row)
			continue
		}
		checkColumns(t, row)
	}
	checkPages(t, out, "PubFourQueueSub")
	var turns []string
	for line := range strings.Lines(said) {
		if words := strings.Fields(line); words[0] == "N1" {
			turns = append(turns, words[2])
		}
	}
	if got := strings.Join(turns, " "); len(rows) != 10 || got != "paddock, nats-server, nats-server, paddock," {
		t.Errorf("%d rows, the turns are %s", len(rows), got)
	}
}

// Ctrl-C ends it with the rows until then.
func TestBenchOriginsInterrupted(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	cmd := program(t, "bench", "origins", "--only", "W10,TP1", "--peers", "none", "--out", out)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "TP1 ") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // with a code
	text, err := os.ReadFile(filepath.Join(out, "origins.json"))
	if code := cmd.ProcessState.ExitCode(); code != 130 || err != nil || !strings.Contains(string(text), `"id": "W10"`) || strings.Contains(string(text), `"id": "TP1"`) {
		t.Errorf("code %d, %v: %s", code, err, text)
	}
}
