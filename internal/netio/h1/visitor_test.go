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

func TestPlain(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/a/b/": "/a/b/", "*": "*", "/a.b": "/a.b", "/%61/%C3%A9%4a": "/a/\xc3\xa9J", "//a///b/": "/a/b", "/./a/.": "/a", "/a/../b/%2e%2E/c": "/c",
		"/..": "/", "/../../a": "/a", "/a;v=1;w/b;": "/a/b", "/;x/a": "/a", `/a\b%5Cc%2fd`: "/a/b/c/d", "/a%": "/a%", "/%zz/%61": "/%zz/%61", "/%2561": "/%61",
	} {
		if got := Plain(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
