//go:build !race

package httpapi

import (
	"strings"
	"testing"
)

// Not under the race detector: there a sync.Pool forgets at random.
func TestFastSearchesAllocateNothing(t *testing.T) {
	for name, text := range shortForms {
		search := searching(t, text)
		if got := string(search()); !strings.HasSuffix(got, "\r\n\r\n"+inAB+"\n") {
			t.Fatal(got)
		}
		if n := testing.AllocsPerRun(1000, func() { search() }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
