package hostname_test

import (
	"strings"
	"testing"

	"paddock/internal/netio/hostname"
)

func TestNormalise(t *testing.T) {
	for host, want := range map[string]string{
		"example.com": "example.com", "Example.COM.": "example.com", "example.com:80": "example.com", "EXAMPLE.com.:443": "example.com",
		"bücher.example": "xn--bcher-kva.example", "BÜCHER.example.": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"a_b.example": "a_b.example", "127.0.0.1:8000": "127.0.0.1", "[::1]:80": "::1", "localhost": "localhost",
		"faß.example": "xn--fa-hia.example", "example。com": "example.com",
		"": "", ".": "", "a..b": "", ".a": "", "a b": "", "a/b": "", "a\nb": "", "*.a.example": "", "a..": "", ":80": "",
		strings.Repeat("a", 64): "", strings.Repeat("a.", 127) + "a": "", "a\x00b": "", "xn--\u00fc": "", "a\u200bb": "ab",
	} {
		got, err := hostname.Normalise(host)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", host, got, err)
		}
		if err == nil {
			if again, err := hostname.Normalise(got); again != got || err != nil {
				t.Errorf("%q again: %q, %v", got, again, err)
			}
		}
	}
}

func TestPattern(t *testing.T) {
	for s, want := range map[string]string{
		"*.Example.com.": "*.example.com", "example.com": "example.com", "*.bücher.example": "*.xn--bcher-kva.example",
		"*.com": "", "*.co.uk": "", "*.": "", "*": "", "*.*.example.com": "", "*.localhost": "", "example.com:80": "", "*.example.com:80": "",
	} {
		if got, err := hostname.Pattern(s); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// A name in normal form costs no allocation.
func TestPlainNamesDoNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = hostname.Normalise("app.example.com") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
