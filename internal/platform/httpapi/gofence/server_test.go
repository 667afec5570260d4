package gofence_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"weak"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/internal/platform/httpapi/gofence"
	"paddock/internal/process/access"
)

func TestProfile(t *testing.T) {
	paths := []string{"", "cmdline", "symbol", "heap", "block", "goroutine", "threadcreate"}
	on := gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{Profile: true})
	off := gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{})
	status := func(h http.Handler, method, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/debug/pprof/"+path, nil))
		return w.Code
	}
	for _, path := range paths {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := status(on, method, path); got != http.StatusOK {
				t.Errorf("%s %q: %d", method, path, got)
			}
			if got := status(off, method, path); got != http.StatusNotFound {
				t.Errorf("%s %q without the option: %d", method, path, got)
			}
		}
	}
	if got := status(on, http.MethodGet, "allocs"); got != http.StatusNotFound {
		t.Errorf("a profile that the original did not serve: %d", got)
	}
}

// TestCPUProfile receives a whole profile within the server's timeouts.
func TestCPUProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	addr := serveWith(t, gofence.NewServer(gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{Profile: true}), "", discard))
	r, err := http.Post("http://"+addr+"/debug/pprof/profile?seconds=1", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if b, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("%s, %d bytes, %v", r.Status, len(b), err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestRemovedSetsAreFreed holds that the texts of a removed set go when another one is searched.
func TestRemovedSetsAreFreed(t *testing.T) {
	c := testCatalog(t, fence.DefaultKind)
	h := gofence.New(c, gofence.Options{})
	search := func(name string) weak.Pointer[fence.Set] {
		s, err := fence.NewSet(name, fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Add(s); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/fence/"+name+"/search?lat=1&lon=1", nil))
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
		if _, err := c.RemoveIf(s, func(*fence.Snapshot) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return weak.Make(s)
	}
	first := search("monday")
	search("tuesday")
	for range 100 {
		if runtime.GC(); first.Value() == nil {
			runtime.KeepAlive(h)
			return
		}
	}
	t.Error("the removed set is still in memory")
	runtime.KeepAlive(h)
}

var discard = slog.New(slog.DiscardHandler)

// do sends one request on a connection of its own.
func do(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	tr := new(http.Transport)
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Without a token a page whose name resolves to this machine is not answered: it would be of the
// service's own origin.
func TestForeignName(t *testing.T) {
	for door, server := range doors(gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{Profile: true}), "") {
		addr := serveWith(t, server)
		for host, want := range map[string]int{"evil.example": 421, "evil.example:80": 421, "localhost:8080": 200, addr: 200} {
			for _, path := range []string{"/fence", "/fence/zones/search?lat=1&lon=1", "/debug/pprof/"} {
				r := request(t, http.MethodGet, "http://"+addr+path, "")
				r.Host = host
				if resp, _ := do(t, r); resp.StatusCode != want {
					t.Errorf("%s: %s%s: %s", door, host, path, resp.Status)
				}
			}
		}
	}
}

func TestToken(t *testing.T) {
	for door, server := range doors(gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{Profile: true}), "s3cret") {
		addr := serveWith(t, server)
		for _, tc := range []struct {
			authorization string
			allowed       bool
		}{
			{"", false},
			{"Bearer", false},
			{"Bearer ", false},
			{"Bearer s3cre", false},
			{"Bearer s3crets", false},
			{"Token s3cret", false},
			{"s3cret", false},
			{"Basic czNjcmV0", false},         // no colon
			{"Basic dXNlcjpub3RpdA==", false}, // user:notit
			{"Basic dXNlcjpzM2NyZXQ=", true},  // user:s3cret
			{"Bearer s3cret", true},
			{"bearer s3cret", true},
		} {
			for _, path := range []string{"/engarde", "/fence/zones/search?lat=1&lon=1", "/debug/pprof/", "/nowhere", "/ENGARDE"} {
				r := request(t, http.MethodGet, "http://"+addr+path, "")
				if tc.authorization != "" {
					r.Header.Set("Authorization", tc.authorization)
				}
				resp, body := do(t, r)
				if (resp.StatusCode == http.StatusUnauthorized) == tc.allowed {
					t.Errorf("%s: %q %s: %s", door, tc.authorization, path, resp.Status)
				}
				if !tc.allowed && (body != "Token required\n" || resp.Header.Get("WWW-Authenticate") == "") {
					t.Errorf("%s: %q %s: %q %v", door, tc.authorization, path, body, resp.Header)
				}
			}
		}
	}
}

func TestPagesOfOtherSites(t *testing.T) {
	for door, server := range doors(gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{}), "") {
		addr := serveWith(t, server)
		for _, path := range []string{"/fence/zones/add", "/fence/zones/search"} {
			for _, tc := range []struct {
				field, value string
				want         int
			}{
				{"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
				{"Sec-Fetch-Site", "same-origin", http.StatusBadRequest},
				{"Origin", "https://elsewhere.example", http.StatusForbidden},
				{"Origin", "http://" + addr, http.StatusBadRequest},
				{"X-Other", "", http.StatusBadRequest},
			} {
				r := request(t, http.MethodPost, "http://"+addr+path, "{}")
				r.Header.Set(tc.field, tc.value)
				if resp, _ := do(t, r); resp.StatusCode != tc.want {
					t.Errorf("%s: %s %s %q: %s, want %d", door, path, tc.field, tc.value, resp.Status, tc.want)
				}
			}
		}
	}
}

// A client that stops in the middle loses its connection in bounded time.
func TestServerHasTimeouts(t *testing.T) {
	s := gofence.NewFallback(http.NotFoundHandler(), access.NewGuard(""), discard)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("%+v", s)
	}
}

// The bound on answers: a search among many fences on one spot is refused.
func TestAnswerBound(t *testing.T) {
	feature := fmt.Sprintf(`{"type":"Feature","properties":{"text":%q},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, strings.Repeat("x", 1<<20))
	c := catalogOf(t, map[string]string{"few.json": feature, "many.json": feature})
	many, _ := c.Get("many")
	f, _, err := geojson.ParseFeature([]byte(feature), geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		if _, _, err := many.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	h := gofence.New(c, gofence.Options{})
	for set, want := range map[string]int{"few": http.StatusOK, "many": http.StatusRequestEntityTooLarge} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/fence/"+set+"/search?lat=1&lon=1", nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", set, w.Code, want)
		}
		if line := "Answer 16 MB max, 17 fences\n"; want != http.StatusOK && w.Body.String() != line {
			t.Errorf("%q, want %q", w.Body, line)
		}
	}
}

// Answers reflect each change of a set, and keep unchanged texts.
func TestAnswersFollowTheSet(t *testing.T) {
	c := catalogOf(t, map[string]string{"a.json": version(1)["a.json"]})
	set, _ := c.Get("a")
	h := gofence.New(c, gofence.Options{})
	check := func(fences string) {
		t.Helper()
		for range 2 { // rendered, then from the cache
			if got, want := get(h, "/fence/a/search?lat=1&lon=1"), fmt.Sprintf(atOneOne, fences); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	}
	check(`{"id":1,"set":"a"}`)
	f, _, err := geojson.ParseFeature([]byte(version(2)["b.json"]), geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := set.Put(f); err != nil {
		t.Fatal(err)
	}
	check(`{"id":1,"set":"a"},{"id":2,"set":"b"}`)
	f.Properties = []byte(`{"set":"changed"}`)
	if _, _, err := set.Put(f); err != nil {
		t.Fatal(err)
	}
	check(`{"id":1,"set":"a"},{"id":2,"set":"changed"}`)
	if _, ok := set.Delete("1"); !ok {
		t.Fatal("no fence 1")
	}
	check(`{"id":2,"set":"changed"}`)
	c.Remove("a")
	if got := get(h, "/fence/a/search?lat=1&lon=1"); got != "Error search fence a\n" {
		t.Errorf("after the set is gone: %q", got)
	}
	again, _ := catalogOf(t, map[string]string{"a.json": version(9)["a.json"]}).Get("a")
	if err := c.Add(again); err != nil {
		t.Fatal(err)
	}
	check(`{"id":9,"set":"a"}`)
}

func TestOwns(t *testing.T) {
	for path, want := range map[string]bool{
		"/engarde": true, "/fence": true, "/fence/": true, "/fence/a/search": true, "/fence/a/b/c/d": true,
		"/ENGARDE/": true, "//Fence//a": true, "/./fence": true, "/v1/../fence": true, "fence": true,
		"": false, "/": false, "*": false, "/v1/sets": false, "/fences": false, "/fence.js": false,
		"/assets/fence": false, "/fence/../v1/sets": false, "/fence/../..": false,
	} {
		if got := gofence.Owns(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}

// version returns a directory of two sets that contain their version.
func version(v int) map[string]string {
	square := func(set string) string {
		return fmt.Sprintf(`{"type":"Feature","id":%d,"properties":{"set":%q},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, v, set)
	}
	return map[string]string{"a.json": square("a"), "b.json": square("b"), fmt.Sprintf("only %d.json", v): square("c")}
}

func get(h http.Handler, path string) string {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.String()
}

const atOneOne = `{"query":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[1,1]}},"fences":[%s]}`
