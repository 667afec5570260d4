package h1

import (
	"testing"
)

func TestClimbs(t *testing.T) {
	for path, want := range map[string]bool{
		"/": false, "/a/b": false, "/a..b/..c/d..": false, "/...": false, "/a/.": false, "/a?b=/../": false, "/%20": false,
		"/..": true, "/a/../b": true, "/a/..": true, "/%2e%2E/": true, "/.%2e": true, "/a%2f..%2fb": true, `/a\..\b`: true,
		"/a%5C..": true, "/..;x/b": true,
	} {
		if Climbs(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
