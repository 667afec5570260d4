package main

import (
	"os"
	"path/filepath"
	"testing"

	"paddock/lab/compare/internal/wire/wirebench"
)

// Every goal runs with every contender in two processes. Only contenders that declare a goal
// unsupported lack figures.
func TestWire(t *testing.T) {
	r, out := result(t, "wire")
	measured := map[string]bool{}
	for _, s := range r.Samples {
		if s.Failed != "" {
			t.Errorf("%s, %s: %s", s.Goal, s.Contender, s.Failed)
		}
		measured[s.Goal+" "+s.Contender] = s.Seconds > 0
	}
	for _, g := range wirebench.Goals() {
		contains(t, out, "\n"+g.Name+": "+g.Title+"\n")
		for _, b := range g.Bars {
			if !measured[g.Name+" "+b.Contender] || !measured[g.Name+" "+b.Base] {
				t.Errorf("%s: not measured: %s", g.Name, b.Rule())
			}
		}
	}
}

func TestWireProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	if _, err := compare(t.Context(), "wire", "--only", "post", "--peers", "raw", "--profile", dir); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"client", "server"} {
		file := filepath.Join(dir, "post-raw-bulk-0-"+end+".pprof")
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, or empty", file, err)
		}
	}
}
