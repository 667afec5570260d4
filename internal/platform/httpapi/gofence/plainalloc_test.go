//go:build !race

package gofence

import (
	"strings"
	"testing"
)

// Not under the race detector: there a sync.Pool forgets at random.
func TestPlainSearchesAllocateNothing(t *testing.T) {
	for name, request := range plainSearches {
		search := searching(t, request)
		if got := string(search()); !strings.HasSuffix(got, `"fences":[{"id":"f","name":"everywhere"}]}`) {
			t.Fatal(got)
		}
		if n := testing.AllocsPerRun(1000, func() { search() }); n >= 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
