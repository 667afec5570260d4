//go:build !race

package gofence

import (
	"strings"
	"testing"
)

// Not under the race detector: there a sync.Pool forgets at random.
func TestHotAllocatesNothing(t *testing.T) {
	search, ctx := searching(t)
	search()
	if got := string(ctx.Response.Body()); !strings.HasSuffix(got, `"fences":[{"id":"f","name":"everywhere"}]}`) {
		t.Fatal(got)
	}
	if n := testing.AllocsPerRun(1000, search); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}
