package tunnelbench

import (
	"strings"
	"testing"

	"paddock/lab/internal/scenario/tunneled"
)

// Every goal asks for something, of contenders that have a peer; its base and its bars are
// about them.
func TestGoals(t *testing.T) {
	peers := map[string]bool{}
	for _, p := range Peers {
		peers[p.Name] = true
	}
	for _, g := range Goals() {
		names := map[string]bool{}
		for _, c := range g.Contenders {
			names[c.Name] = true
			if !peers[c.Peer] {
				t.Errorf("%s: no peer %q", g.Name, c.Peer)
			}
			size, _ := strings.CutSuffix(string(c.Operation), patient)
			if _, err := tunneled.Bytes(size); err != nil {
				t.Errorf("%s: %v", g.Name, err)
			}
		}
		if !names[g.Base] {
			t.Errorf("%s: the base %q is no contender", g.Name, g.Base)
		}
		for _, bar := range g.Bars {
			if !names[bar.Contender] || !names[bar.Base] {
				t.Errorf("%s: a bar for %s against %s", g.Name, bar.Contender, bar.Base)
			}
		}
	}
}
