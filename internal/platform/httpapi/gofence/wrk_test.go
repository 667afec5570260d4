package gofence_test

import (
	"context"
	"os/exec"
	"regexp"
	"testing"

	"paddock/internal/platform/httpapi/gofence"
)

// TestWrk is a small version of the original benchmark: wrk posts real positions, and the answer to
// each well-formed body is 200.
func TestWrk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two seconds")
	}
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		t.Skipf("no load generator: %v", err)
	}
	fsys := nyc(t)
	lines := bodies(t, fsys)
	if len(lines) == 0 {
		t.Skip("no points in the real data")
	}
	c := nycCatalog(t)
	var name string // of the set with the most fences
	most := 0
	for set := range c.All() {
		if n := set.Snapshot().Len(); n > most {
			name, most = set.Name(), n
		}
	}
	addr := serveWith(t, gofence.NewServer(gofence.New(c, gofence.Options{}), "", discard))
	ctx, cancel := context.WithTimeout(t.Context(), ioTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, wrk, "-t1", "-c10", "-d2s", "--timeout", "15s", "-s", "testdata/bodies.lua",
		"http://"+addr+"/fence/"+name+"/search", "--", writeBodies(t, lines)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if !regexp.MustCompile(`(?m)^summary requests=[1-9]\d* status=0 connect=0 read=0 write=0 timeout=0$`).Match(out) {
		t.Error("not every request was answered with 200")
	}
}
