package website

import (
	"strings"
	"testing"
	"time"
)

func TestEncodingIsChosen(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"a.css": "plain text", "a.css.br": "br", "a.css.zst": "zst", "a.css.gz": "gzip",
		"b.css": "plain text", "b.css.gz": "gz", "c.css": "plain text",
		"d.css": "plain", "d.css.br": "larger than it", "d.css.gz": "g",
	})
	for _, s := range []*served{serve(t, dir, inMemory), serve(t, dir, Options{})} {
		for _, tc := range []struct{ name, accept, want string }{
			{"a.css", "gzip", "gzip"},
			{"a.css", "gzip, deflate, br, zstd", "br"}, // the smallest
			{"a.css", "gzip, zstd", "zstd"},
			{"a.css", "GZIP;Q=1.0", "gzip"},
			{"a.css", "x-gzip", "gzip"},
			{"a.css", "br;q=0.5, gzip;q=0.8", "gzip"},
			{"a.css", "br;q=0.501,gzip;q=0.5", "br"},
			{"a.css", "br ; q=0.2 , zstd\t;\tq=0.3", "zstd"},
			{"a.css", "br;q=0, gzip;q=0.000, zstd;q=0.", ""},
			{"a.css", "*", "br"},
			{"a.css", "*;q=0.5, br;q=0", "zstd"},
			{"a.css", "*;q=0", ""},
			{"a.css", "identity;q=0, *;q=0", ""}, // the only representation
			{"a.css", "identity;q=0", ""},
			{"a.css", "gzip;q=0.5, identity", ""},
			{"a.css", "gzip;q=0.5, identity;q=0.4", "gzip"},
			{"a.css", "gzip;q=0.5, *", "br"},
			{"a.css", "deflate, compress, exi", ""},
			{"a.css", "br;q=2, gzip", "gzip"},
			{"a.css", "br;q=-1, zstd;q=0.1234, gzip;x=1, ,;,;;", ""},
			{"a.css", "", ""},
			{"b.css", "br, zstd, gzip;q=0.1", "gzip"},
			{"c.css", "br, gzip", ""},
			{"d.css", "br, gzip", "gzip"},
			{"d.css", "br", "br"}, // the file itself was requested
		} {
			r := s.get(t, "GET", "/"+tc.name, "Accept-Encoding", tc.accept)
			if got := r.header.Get("Content-Encoding"); got != tc.want || r.status != 200 {
				t.Errorf("%s, %q: %d %q, want %q", tc.name, tc.accept, r.status, got, tc.want)
			}
			if vary := r.header.Get("Vary"); (vary == "Accept-Encoding") != (tc.name != "c.css") {
				t.Errorf("%s: Vary %q", tc.name, vary)
			}
			if r.header.Get("Content-Type") != "text/css; charset=utf-8" || r.header.Get("Content-Length") == "" {
				t.Errorf("%s, %q: %v", tc.name, tc.accept, r.header)
			}
		}
		tags := map[string]bool{}
		for _, accept := range []string{"br", "zstd", "gzip", ""} {
			r := s.get(t, "HEAD", "/a.css", "Accept-Encoding", accept)
			tag := r.header.Get("Etag")
			tags[tag] = true
			if again := s.get(t, "GET", "/a.css", "Accept-Encoding", accept, "If-None-Match", tag); again.status != 304 || again.header.Get("Vary") == "" {
				t.Errorf("%s: %+v", accept, again)
			}
		}
		if len(tags) != 4 {
			t.Errorf("four contents have the tags %v", tags)
		}
		r := s.get(t, "GET", "/a.css", "Accept-Encoding", "gzip", "Range", "bytes=1-2")
		if r.status != 206 || r.body != "zi" || r.header.Get("Content-Encoding") != "gzip" || r.header.Get("Content-Range") != "bytes 1-2/4" {
			t.Errorf("a range of an encoded content: %+v", r)
		}
		if r := s.get(t, "GET", "/a.css.gz"); r.header.Get("Content-Type") != "application/gzip" || r.header.Get("Content-Encoding") != "" {
			t.Errorf("the compressed file itself: %+v", r)
		}
	}
}

// A precompressed form that is older than its file was made from other contents.
func TestStaleEncodingIsNotServed(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.css": "new", "a.css.gz": "made from what was there before"})
	touch(t, dir, "a.css", old.Add(time.Hour))
	s := serve(t, dir, inMemory)
	if r := s.get(t, "GET", "/a.css", "Accept-Encoding", "gzip"); r.body != "new" || r.header.Get("Content-Encoding") != "" {
		t.Errorf("%+v", r)
	}
	touch(t, dir, "a.css.gz", old.Add(time.Hour))
	s.age()
	if r := s.get(t, "GET", "/a.css", "Accept-Encoding", "gzip"); r.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("after it was made again: %+v", r)
	}
}

// Weights follow RFC 9110's grammar; other texts have no weight.
func FuzzQuality(f *testing.F) {
	for _, seed := range []string{"q=1", "q=0.123", "Q=1.000", "q=1.001", "q=.5", "q=0.1234", "q=00", "q = 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := quality([]byte(s))
		digits, ok := strings.CutPrefix(strings.ToLower(s), "q=")
		whole, fraction, _ := strings.Cut(digits, ".")
		want := ok && (whole == "0" && strings.Trim(fraction, "0123456789") == "" || whole == "1" && strings.Trim(fraction, "0") == "") && len(fraction) <= 3
		if (q >= 0) != want || q > 1000 {
			t.Errorf("%q: %d", s, q)
		}
	})
}
