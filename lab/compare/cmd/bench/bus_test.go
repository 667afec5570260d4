package main

import (
	"strings"
	"testing"

	"paddock/lab/compare/internal/nats/busbench"
)

// Every goal runs with every contender, and each has its figures.
func TestBus(t *testing.T) {
	needsPrograms(t)
	r, out := result(t, "bus")
	measured := map[string]bool{}
	for _, s := range r.Samples {
		if s.Failed != "" || s.Unsupported != "" {
			t.Errorf("%s, %s: %s%s", s.Goal, s.Contender, s.Failed, s.Unsupported)
		}
		measured[s.Goal+" "+s.Contender] = s.Ops > 0
	}
	for _, g := range busbench.Goals("") {
		contains(t, out, "\n"+g.Name+": "+g.Title+"\n")
		for _, c := range g.Contenders {
			if !measured[g.Name+" "+c.Name] {
				t.Errorf("%s: %s did nothing", g.Name, c.Name)
			}
		}
	}
}

func TestBusPinned(t *testing.T) {
	needsPrograms(t)
	out, err := compare(t.Context(), "bus", "--pinned", "--only", "one-to-one-16")
	if err != nil || strings.Contains(out, "failed") {
		t.Errorf("%v\n%s", err, out)
	}
	contains(t, out, "bar: paddock <= 0.33x nats-server")
}
