package wirebench

import (
	"strings"
	"testing"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/wire/peers"
)

// Each name in a goal exists, once.
func TestGoalsAreConsistent(t *testing.T) {
	for _, g := range Goals() {
		names := map[string]bool{}
		for _, c := range g.Contenders {
			if names[c.Name] {
				t.Errorf("%s: two contenders are called %s", g.Name, c.Name)
			}
			names[c.Name] = true
			if _, err := peers.Find(c.Peer); err != nil {
				t.Errorf("%s: %v", g.Name, err)
			}
		}
		for _, c := range g.Contenders {
			if base := g.BaseOf(c); base != "" && !names[base] {
				t.Errorf("%s: %s is divided by %s, which does not run", g.Name, c.Name, base)
			}
		}
		for _, b := range g.Bars {
			if !names[b.Contender] || !names[b.Base] {
				t.Errorf("%s: %s", g.Name, b.Rule())
			}
		}
	}
}

func TestSelect(t *testing.T) {
	got, err := harness.Select(Goals(), []string{"bulk", "request"}, []string{"raw", "grpc"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %d goals", err, len(got))
	}
	var names []string
	for _, g := range got {
		for _, c := range g.Contenders {
			names = append(names, g.Name+" "+c.Name)
		}
	}
	if got := strings.Join(names, ", "); got != "request grpc, bulk raw, bulk grpc" {
		t.Errorf("got %s", got)
	}
	if _, err := harness.Select(Goals(), []string{"fast"}, nil); err == nil || !strings.Contains(err.Error(), "roundtrip") {
		t.Errorf("an unknown goal: %v", err)
	}
}
