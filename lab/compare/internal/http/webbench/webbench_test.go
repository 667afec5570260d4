package webbench

import "testing"

// Every goal has a file, and bars for its contenders.
func TestGoals(t *testing.T) {
	for _, g := range Goals() {
		names := map[string]bool{}
		for _, c := range g.Contenders {
			names[c.Name] = true
			if sizes[c.Operation] == 0 {
				t.Errorf("%s: no file of %s", g.Name, c.Operation)
			}
		}
		for _, bar := range g.Bars {
			if !names[bar.Contender] || !names[bar.Base] {
				t.Errorf("%s: a bar for %s against %s", g.Name, bar.Contender, bar.Base)
			}
		}
	}
}
