package website

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// oracleSite holds files for which net/http's FileServer gives the same answers.
var oracleSite = map[string]string{
	"index.html":          "<h1>front</h1>",
	"app.js":              "let a = 1",
	"style.css":           "a{}",
	"data.json":           "{}",
	"picture.svg":         "<svg/>",
	"README":              "plain words",
	"blob":                "\x00\x01\x02",
	"page":                "<!doctype html><p>x",
	"empty.txt":           "",
	"sub/index.html":      "sub",
	"sub/deep/a b.txt":    "spaces",
	"sub/deep/é.txt":      "accents",
	"sub/deep/100%.txt":   "percent",
	"sub/deep/q?.txt":     "question",
	"sub/deep/semi;a.txt": "semicolon",
	"bare/file.txt":       "x",
	"alphabet.txt":        "abcdefghijklmnopqrstuvwxyz",
}

// net/http answers these ranges differently from RFC 9110 section 14.
func TestRangesOfTheStandard(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, oracleSite)
	for _, s := range []*served{serve(t, dir, inMemory), serve(t, dir, Options{})} {
		for _, c := range []struct {
			field  string
			status int
			body   string // "": any
		}{
			{"bytes=-0", 416, ""},
			{"bytes=-00, -0", 416, ""},
			{"bytes=-0,2-5", 206, "cdef"},
			{"Bytes=2-5", 206, "cdef"},
			{"lines=1-2", 200, "abcdefghijklmnopqrstuvwxyz"},
			{"bytes", 200, "abcdefghijklmnopqrstuvwxyz"},
		} {
			r := s.get(t, "GET", "/alphabet.txt", "Range", c.field)
			if r.status != c.status || c.body != "" && r.body != c.body {
				t.Errorf("%s: %d %q, want %d %q", c.field, r.status, r.body, c.status, c.body)
			}
		}
	}
}

// Answers equal those of net/http's FileServer in status, header and bytes. docs/reference/web.md
// lists the differences.
func TestAgreesWithFileServer(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, oracleSite)
	oracle := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer oracle.Close()
	both := []*served{serve(t, dir, inMemory), serve(t, dir, Options{})}
	tag := both[0].get(t, "GET", "/alphabet.txt").header.Get("Etag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		t.Fatalf("the tag is %q", tag)
	}
	const same, before, after = "Thu, 29 Feb 2024 12:30:45 GMT", "Thu, 29 Feb 2024 12:30:44 GMT", "Thu, 29 Feb 2024 12:30:46 GMT"
	fields := [][]string{
		nil,
		{"Range", "bytes=0-0"},
		{"Range", "bytes=2-5"},
		{"Range", "bytes=20-"},
		{"Range", "bytes=-3"},
		{"Range", "bytes=-99"},
		{"Range", "bytes=26-"},
		{"Range", "bytes=99-"},
		{"Range", "bytes=5-2"},
		{"Range", "bytes=a-b"},
		{"Range", "bytes="},
		{"Range", "bytes=0-1,3-4"},
		{"Range", "bytes=0-1, 24-"},
		{"Range", "bytes=0-25,0-25"},
		{"If-Modified-Since", same},
		{"If-Modified-Since", before},
		{"If-Modified-Since", after},
		{"If-Modified-Since", "yesterday"},
		{"If-Unmodified-Since", same},
		{"If-Unmodified-Since", before},
		{"Range", "bytes=2-5", "If-Range", same},
		{"Range", "bytes=2-5", "If-Range", before},
	}
	for name := range oracleSite {
		targets := []string{(&url.URL{Path: "/" + name}).EscapedPath()}
		if dir, isIndex := strings.CutSuffix(name, indexName); isIndex {
			targets = []string{"/" + dir} // FileServer redirects index.html
		}
		for _, target := range targets {
			for _, method := range []string{"GET", "HEAD"} {
				for _, fields := range fields {
					want := replyOf(t, oracle.URL, method, target, fields)
					for _, s := range both {
						compare(t, method+" "+target+" "+strings.Join(fields, ": "), s.get(t, method, target, fields...), want)
					}
				}
			}
		}
	}
	for _, target := range []string{"/none", "/sub/none/none", "/./app.js", "/sub/../app.js", "/../../app.js", "//app.js", "/sub//deep/a%20b.txt", "/app.js?v=1", "/sub/?x", "/%61pp.js", "/sub%2findex.htm", "/sub%2Fdeep/a%20b.txt"} {
		want := replyOf(t, oracle.URL, "GET", target, nil)
		for _, s := range both {
			got := s.get(t, "GET", target)
			if want.status == http.StatusNotFound {
				got.body, got.header, want.body, want.header = "", nil, "", nil
			}
			compare(t, target, got, want)
		}
	}
	for _, target := range []string{"/sub", "/sub?a=b&c", "/sub/../sub"} {
		want := replyOf(t, oracle.URL, "GET", target, nil)
		for _, s := range both {
			got := s.get(t, "GET", target)
			if a, b := resolve(t, target, got), resolve(t, target, want); got.status != want.status || a != b {
				t.Errorf("%s: %d %s, FileServer %d %s", target, got.status, a, want.status, b)
			}
		}
	}
	for _, s := range both { // conditions on tags, which FileServer does not send
		for _, tc := range []struct {
			field, value string
			want         int
		}{
			{"If-None-Match", tag, 304},
			{"If-None-Match", "W/" + tag, 304},
			{"If-None-Match", `"x", ` + tag, 304},
			{"If-None-Match", "*", 304},
			{"If-None-Match", `"x"`, 200},
			{"If-Match", tag, 200},
			{"If-Match", "*", 200},
			{"If-Match", `"x"`, 412},
			{"If-Match", "W/" + tag, 412},
		} {
			got := s.get(t, "GET", "/alphabet.txt", tc.field, tc.value)
			if got.status != tc.want || got.close || tc.want == 304 && (got.body != "" || got.header.Get("Etag") != tag) {
				t.Errorf("%s: %s: %+v", tc.field, tc.value, got)
			}
		}
		for value, want := range map[string]int{tag: 206, "W/" + tag: 200, `"x"`: 200} {
			if got := s.get(t, "GET", "/alphabet.txt", "Range", "bytes=0-1", "If-Range", value); got.status != want {
				t.Errorf("If-Range: %s: %d", value, got.status)
			}
		}
	}
}

// replyOf sends a request to the oracle.
func replyOf(t *testing.T, base, method, target string, fields []string) reply {
	t.Helper()
	o := &served{addr: strings.TrimPrefix(base, "http://")}
	return o.get(t, method, target, fields...)
}

func resolve(t *testing.T, target string, r reply) string {
	t.Helper()
	base, err := url.Parse("http://h" + target)
	must(t, err)
	to, err := base.Parse(r.header.Get("Location"))
	must(t, err)
	return to.String()
}

// compare also compares the header fields that FileServer sends.
func compare(t *testing.T, what string, got, want reply) {
	t.Helper()
	if isMultipart(want) && isMultipart(got) {
		sameParts(t, what, &got, &want)
	}
	if got.status != want.status || got.body != want.body || got.close != want.close {
		t.Errorf("%s: %d %.60q %v, FileServer %d %.60q %v", what, got.status, got.body, got.close, want.status, want.body, want.close)
	}
	for _, name := range []string{"Content-Length", "Content-Range", "Content-Type", "Last-Modified", "Accept-Ranges", "Connection", "Transfer-Encoding"} {
		if g, w := got.header.Get(name), want.header.Get(name); g != w && !isOurs(name, w, g) && want.header != nil && !(want.status == 304 && name == "Last-Modified") { // a 304 with a tag needs no date
			t.Errorf("%s: %s: %q, FileServer %q", what, name, g, w)
		}
	}
}

// isOurs reports whether the types differ because FileServer takes some from the machine.
func isOurs(name, theirs, ours string) bool {
	return name == "Content-Type" && strings.TrimSuffix(ours, "; charset=utf-8") == strings.TrimSuffix(theirs, "; charset=utf-8")
}

func isMultipart(r reply) bool {
	return strings.HasPrefix(r.header.Get("Content-Type"), "multipart/byteranges; boundary=")
}

// sameParts replaces the boundaries in both replies with one.
func sameParts(t *testing.T, what string, a, b *reply) {
	t.Helper()
	for _, r := range []*reply{a, b} {
		r.header = r.header.Clone()
		_, boundary, _ := strings.Cut(r.header.Get("Content-Type"), "boundary=")
		if boundary == "" {
			t.Errorf("%s: no boundary", what)
			return
		}
		r.header.Set("Content-Type", "multipart/byteranges")
		r.body = strings.ReplaceAll(r.body, boundary, "B")
	}
}
