package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// peerName is a program that answers as tile38-server does, and finds nothing.
const peerName = "peer-stub"

// runPeer tells each hook's endpoint once that it is there.
func runPeer() {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[slices.Index(os.Args, "-p")+1])
	for err == nil {
		var c net.Conn
		if c, err = l.Accept(); err == nil {
			go servePeer(c)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func servePeer(c net.Conn) {
	in := bufio.NewReader(c)
	number := func() int {
		line, _ := in.ReadString('\n')
		n, _ := strconv.Atoi(strings.TrimSpace(line[min(1, len(line)):]))
		return n
	}
	for n := number(); n > 0; n = number() {
		words := make([]string, n)
		for i := range words {
			text := make([]byte, number()+2)
			_, _ = io.ReadFull(in, text)
			words[i] = string(text[:len(text)-2])
		}
		answer := "+OK\r\n"
		if words[0] == "SETHOOK" {
			told, err := http.Post(words[2], "application/json", strings.NewReader("{}"))
			if err != nil || told.StatusCode != http.StatusOK {
				answer = "-ERR the endpoint does not answer\r\n"
			} else {
				told.Body.Close()
			}
		}
		_, _ = io.WriteString(c, answer)
	}
}

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

// Tile38 has the same fences as hooks, and a turn in each round.
func TestBenchTrackBesideTile38(t *testing.T) {
	t.Parallel()
	peer, err := exec.LookPath(peerName)
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "bench", "track", "--sets", squareZone(t), "--vehicles", "0", "--door", "wire", "--policy", "raw", "--dir", t.TempDir(),
		"--no-journal", "--rounds", "2", "-d", "50ms", "--objects", "60", "--batch", "10", "-q", "--peer", peer)
	out, err := cmd.CombinedOutput()
	if text := string(out); err != nil || !strings.Contains(text, " tile38 ") || !strings.Contains(text, "ratio: positions a second, wire, raw to tile38: ") ||
		!strings.Contains(text, "without a journal") {
		t.Errorf("%v: %s", err, out)
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
