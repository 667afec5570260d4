//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A benchmark that is killed, or whose output is closed, takes its children with it, and its
// temporary directories.
func TestBenchTakesItsChildren(t *testing.T) {
	t.Parallel()
	zone := t.TempDir()
	if err := os.WriteFile(filepath.Join(zone, "zone.geojson"), []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},
		"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}},
		{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[0.5,0.5]}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, args string
		ready      string // in a line of either output, when the children run
		kill       bool   // else its output is closed
	}{
		{"nats", "nats --originals -d 100ms", "Benchmark", false},
		{"nats killed", "nats --originals -d 100ms", "Benchmark", true},
		{"nats by load", "nats pub -d 1h", "failed 0", true},
		{"wire", "wire -d 1h", "failed 0", true},
		{"origins", "origins --only TP1 --peers none", "TP1", true},
		{"tunnel", "tunnel spike -d 1h --warmup 0s --rate 100", "failed 0", true},
		{"fence", "fence --kind brute -d 1h --data " + zone, "failed 0", true},
		{"durable", "durable -d 10m --recover 0 --sets " + zone, "round 1", true},
		{"track", "track -d 10m --vehicles 0 --door wire,bus --objects 100 --sets " + zone, "round 1", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := program(t, append([]string{"bench"}, strings.Fields(tc.args)...)...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_CACHE_HOME="+dir)
			alive := inherited(t, cmd)
			outputs(t, cmd, tc.ready)
			if tc.kill {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait() // by a signal
			if _, err := io.Copy(io.Discard, alive); err != nil {
				t.Errorf("children are left: %v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left in the temporary directory: %v, %v", left, err)
			}
		})
	}
}

// inherited makes a pipe whose writing end the command and its descendants have, and returns the
// end that tells when all of them have ended.
func inherited(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alive.Close() })
	if err := alive.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{held}
	t.Cleanup(func() { held.Close() })
	return alive
}

// outputs starts the command, returns when a line of its outputs has a text, and closes them.
func outputs(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	startOf(t, cmd)
	in.Close()
	cmd.ExtraFiles[0].Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("%v does not say %q", cmd.Args, text)
}
