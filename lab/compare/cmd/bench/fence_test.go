package main

import (
	"strings"
	"testing"

	"paddock/lab/compare/internal/fencebench"
)

// Every goal within the process runs with every contender, over the simulated city, and has
// figures: so every index has given the same answers. A figure that is missing has a reason.
func TestFenceIndexes(t *testing.T) {
	var names []string
	for _, g := range fencebench.Goals() {
		if g.Within {
			names = append(names, g.Name)
		}
	}
	r, out := result(t, "fence", "--only", strings.Join(names, ","))
	if !strings.Contains(r.Subject, "set districts of ") || !strings.Contains(r.Subject, "37290 bodies, SHA-256 ") {
		t.Errorf("the subject is %q", r.Subject)
	}
	if len(r.Samples) == 0 {
		t.Fatal("no samples")
	}
	for _, s := range r.Samples {
		switch {
		case s.Failed != "":
			t.Errorf("%s, %s: %s", s.Goal, s.Contender, s.Failed)
		case s.Unsupported == "" && s.Ops == 0:
			t.Errorf("%s: %s did nothing", s.Goal, s.Contender)
		}
	}
	contains(t, out, "bar: cellmap <= 40 ns_per_op (goal 20): ", "bar: golang/geo >= 15x cellmap in ns_per_op (goal 37x): ",
		"bar: cellmap <= 64 bytes_per_edge (goal 40): ")
}

// Ours is measured over HTTP where wrk is installed, and nginx where both are. A line names each
// contender that is left out.
func TestFenceOverHTTP(t *testing.T) {
	needsPrograms(t)
	out, err := compare(t.Context(), "fence", "--only", "http-get,http-latency")
	if err != nil || strings.Contains(out, "failed") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = compare(t.Context(), "fence", "--only", "http-engarde", "--nginx", "no-nginx", "--wrk", "no-wrk"); err != nil {
		t.Fatal(err)
	}
	contains(t, out, "cannot: no no-wrk here", "cannot: no no-nginx here")
}
