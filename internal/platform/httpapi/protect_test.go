package httpapi

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"paddock/internal/platform/httpapi/gofence"
)

const swapDetail = "send a key as Authorization: Bearer KEY, or as the password of Basic"

func TestToken(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) {
		c.Token, c.Profile = "s3cret", true
		c.Gofence = gofence.New(c.Catalog, gofence.Options{})
		c.Metrics = http.NotFoundHandler()
	}})
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for header, want := range map[string]int{
		"Bearer s3cret": 200, "bearer s3cret": 200, basic("me:s3cret"): 200,
		"": 401, "Bearer s3cre": 401, "Bearer ": 401, "Bearer s3crets": 401, basic("s3cret:me"): 401, "s3cret": 401,
	} {
		r := tw.get("/v1/sets", "Authorization", header)
		if r.status != want {
			t.Errorf("%q: %d", header, r.status)
		}
		if want == 401 {
			tw.problem(r, 401, swapDetail)
			if c := r.header.Values("WWW-Authenticate"); len(c) != 2 || !strings.HasPrefix(c[0], "Bearer ") || !strings.HasPrefix(c[1], "Basic ") {
				t.Errorf("WWW-Authenticate %q", c)
			}
		}
	}
	// Only what a browser shows as a page may make it ask for a password.
	for header, want := range map[string]int{
		"Sec-Fetch-Dest: document": 2, "Sec-Fetch-Dest: empty": 1, "Sec-Fetch-Dest: image": 1, "X-Requested-With: XMLHttpRequest": 1,
	} {
		name, value, _ := strings.Cut(header, ": ")
		if c := tw.get("/v1/sets", name, value).header.Values("WWW-Authenticate"); len(c) != want || !strings.HasPrefix(c[0], "Bearer ") {
			t.Errorf("%s: WWW-Authenticate %q", header, c)
		}
	}
	for _, path := range []string{"/", "/v1/live", "/v1/events", "/v1/openapi.json", "/v1/none", "/metrics", "/docs/", "/debug/pprof/", "/engarde", "/fence", "/healthz/x", "/readyz/../v1/sets"} {
		tw.problem(tw.get(path), 401, swapDetail)
	}
	tw.problem(tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`), 401, swapDetail)
	tw.expect(tw.get("/healthz"), 200, `{"status":"ok"}`)
	tw.expect(tw.get("/readyz"), 200, `{"status":"ok"}`)
	tw.expect(tw.send(request{method: "GET", path: "/v1/sets", host: "paddock.example", headers: []string{"Authorization", "Bearer s3cret"}}), 200, "")
}

func TestOriginsAndHosts(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Gofence = gofence.New(c.Catalog, gofence.Options{}) }})
	const body = `{"id":"a","lon":1,"lat":2}`
	for _, headers := range [][]string{
		{"Origin", "https://elsewhere.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
	} {
		for _, path := range []string{"/v1/positions", "/v1/search", "/fence/squares/add", "/v1/none"} {
			tw.problem(tw.post(path, body, headers...), 403, "cross-origin request from a browser")
		}
		tw.problem(tw.send(request{method: http.MethodDelete, path: "/v1/sets/squares", headers: headers}), 403, "cross-origin request from a browser")
		tw.expect(tw.get("/v1/sets", headers...), 200, "") // the browser hides it from the page
	}
	for _, headers := range [][]string{{}, {"Origin", tw.url}, {"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		tw.expect(tw.post("/v1/positions", body, headers...), 200, "")
	}
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST": 200, "x.localhost:1": 200, "127.0.0.1": 200, "[::1]:8080": 200, "192.0.2.1": 200,
		"evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "notlocalhost": 421,
	} {
		r := tw.send(request{method: "GET", path: "/v1/sets", host: host})
		if r.status != want {
			t.Errorf("%s: %d", host, r.status)
		}
		if want == 421 {
			tw.problem(r, 421, `host "`+host+`": without a key only addresses and localhost are answered`)
			if r := tw.send(request{method: "GET", path: "/fence", host: host}); r.status != 421 {
				t.Errorf("/fence for %s: %d", host, r.status)
			}
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Gofence = gofence.New(c.Catalog, gofence.Options{}) }})
	for path, allow := range map[string]string{
		"/v1/sets": "GET, HEAD", "/v1/sets/squares": "DELETE, GET, HEAD, POST, PUT", "/v1/sets/squares/fences/a": "DELETE, GET, HEAD, PUT",
		"/v1/search": "GET, HEAD, POST", "/v1/positions": "GET, HEAD, POST", "/v1/objects": "GET, HEAD", "/v1/objects/v": "DELETE, GET, HEAD",
		"/v1/events": "GET, HEAD", "/v1/live": "GET, HEAD", "/v1/openapi.json": "GET, HEAD",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"} {
			if slices.Contains(strings.Split(allow, ", "), method) {
				continue
			}
			r := tw.send(request{method: method, path: path})
			tw.problem(r, 405, "this path takes "+allow)
			if r.header.Get("Allow") != allow {
				t.Errorf("%s %s: Allow %q", method, path, r.header.Get("Allow"))
			}
		}
	}
	for _, path := range []string{"/v1/", "/v1/set", "/v1/sets/squares/fences/", "/v1/sets/squares/fences/a/b", "/v1/objects/a/b", "/v1/Sets"} {
		for _, method := range []string{"GET", "POST"} {
			tw.problem(tw.send(request{method: method, path: path}), 404, "no endpoint "+path+"; GET /v1/openapi.json lists them")
		}
	}
	tw.expect(tw.get("/engarde"), 200, "Touché!")
	if r := tw.get("/nowhere"); r.status != 404 {
		t.Errorf("%d", r.status)
	}
	if r := tw.get("/debug/pprof/"); r.status != 404 {
		t.Errorf("profiles without being asked to: %d", r.status)
	}
}

// While nothing can be stored, a fence of a gofence client is refused and not in use: its sender
// will add it again.
func TestOriginalWhileNothingIsStored(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) {
		c.Gofence = gofence.New(c.Catalog, gofence.Options{Change: ChangeSets(c.Pipeline, nil)})
	}})
	const feature = `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`
	set, _ := tw.catalog.Get("far")
	for _, c := range []struct {
		reason         string
		status, fences int
	}{{"the disk is full", http.StatusServiceUnavailable, 1}, {"", http.StatusOK, 2}} {
		tw.api.cfg.Pipeline.Refuse(c.reason)
		if r := tw.post("/fence/far/add", feature); r.status != c.status || !strings.Contains(string(r.body), c.reason) || set.Snapshot().Len() != c.fences {
			t.Errorf("%q: %d %s; %d fences", c.reason, r.status, r.body, set.Snapshot().Len())
		}
	}
}
