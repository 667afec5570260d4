package gofence_test

import (
	"fmt"
	"io/fs"
	"os"
	"testing"

	"paddock/fence"
	"paddock/internal/platform/httpapi/gofence"
)

func TestReason(t *testing.T) {
	_, noDir := os.ReadDir("testdata/nowhere")
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: none", fence.ErrNoSets), "No valid geojson fences at some/dir"},
		{noDir, "No valid geojson fences at some/dir"},
		{fmt.Errorf("a.json: %w", fs.ErrNotExist), "a.json: file does not exist"},
		{fmt.Errorf("%w: a and b", fence.ErrExists), "set exists: a and b"},
	} {
		if got := gofence.Reason(c.err, "some/dir"); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}
