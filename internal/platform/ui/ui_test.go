package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

var build = fstest.MapFS{
	".gitkeep":              {},
	"index.html":            {Data: []byte("<!doctype html><title>Paddock</title>")},
	"page.html":             {Data: []byte("<title>Page</title>")},
	"favicon.svg":           {Data: []byte("<svg/>")},
	"assets/index-1a2b.js":  {Data: []byte("export {}")},
	"assets/index-1a2b.css": {Data: []byte("a{}")},
	"assets/blob-1a2b.bin":  {Data: []byte{0, 1, 2}},
}

func get(t *testing.T, h http.Handler, method, target string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Only the origin of the configured tile server is added to the page's policy, for pictures and
// requests.
func TestTilesOfAnotherOrigin(t *testing.T) {
	h := newHandler(build, allPages, "ask elsewhere")
	own := get(t, AllowTiles(h, ""), http.MethodGet, "/").Header.Get("Content-Security-Policy")
	wider := get(t, AllowTiles(h, "https://tiles.example.com"), http.MethodGet, "/").Header.Get("Content-Security-Policy")
	if own != policy || strings.Contains(own, "://") {
		t.Errorf("without a tile server: %s", own)
	}
	if strings.Count(wider, " https://tiles.example.com") != 2 || strings.ReplaceAll(wider, " https://tiles.example.com", "") != policy {
		t.Errorf("with one: %s", wider)
	}
	for _, directive := range []string{"img-src 'self' https://tiles.example.com ", "connect-src 'self' https://tiles.example.com;"} {
		if !strings.Contains(wider, directive) {
			t.Errorf("%s lacks %s", wider, directive)
		}
	}
}

func TestServesTheBuild(t *testing.T) {
	const forever = "public, max-age=31536000, immutable"
	tests := []struct {
		target, contentType, cache, body string
	}{
		{"/", "text/html; charset=utf-8", "no-cache", "<!doctype html><title>Paddock</title>"},
		{"/index.html", "text/html; charset=utf-8", "no-cache", "<!doctype html><title>Paddock</title>"},
		{"/?fence=a/b&at=1,2,3", "text/html; charset=utf-8", "no-cache", "<!doctype html><title>Paddock</title>"},
		{"/rules?rule=a%20b", "text/html; charset=utf-8", "no-cache", "<title>Page</title>"},
		{"/tunnel", "text/html; charset=utf-8", "no-cache", "<title>Page</title>"},
		{"/favicon.svg", "image/svg+xml", "no-cache", "<svg/>"},
		{"/assets/index-1a2b.js", "text/javascript; charset=utf-8", forever, "export {}"},
		{"/assets/index-1a2b.css", "text/css; charset=utf-8", forever, "a{}"},
		{"/assets/blob-1a2b.bin", "application/octet-stream", forever, "\x00\x01\x02"},
		{"/x/../favicon.svg", "image/svg+xml", "no-cache", "<svg/>"},
	}
	h := newHandler(build, allPages, "ask elsewhere")
	for _, tt := range tests {
		t.Run(tt.target, func(t *testing.T) {
			r := get(t, h, http.MethodGet, tt.target)
			if r.StatusCode != http.StatusOK {
				t.Fatalf("status %d", r.StatusCode)
			}
			if got := r.Header.Get("Content-Type"); got != tt.contentType {
				t.Errorf("content type %q, want %q", got, tt.contentType)
			}
			if got := r.Header.Get("Cache-Control"); got != tt.cache {
				t.Errorf("cache control %q, want %q", got, tt.cache)
			}
			if got := r.Header.Get("X-Content-Type-Options"); got != "nosniff" {
				t.Errorf("X-Content-Type-Options %q", got)
			}
			if got := body(t, r); got != tt.body {
				t.Errorf("body %q, want %q", got, tt.body)
			}
		})
	}
}

// A tunnel's server alone has the tunnel's page at its root, and the same files.
func TestTunnelAlone(t *testing.T) {
	h := newHandler(build, tunnelPages, "ask elsewhere")
	if got := body(t, get(t, h, http.MethodGet, "/")); got != "<title>Page</title>" {
		t.Errorf("/: %q", got)
	}
	if got := body(t, get(t, h, http.MethodGet, "/assets/index-1a2b.css")); got != "a{}" {
		t.Errorf("a style: %q", got)
	}
	if r := get(t, h, http.MethodGet, "/rules"); r.StatusCode != http.StatusNotFound {
		t.Errorf("/rules: status %d, want 404", r.StatusCode)
	}
	if got := body(t, get(t, newHandler(fstest.MapFS{}, allPages, "ask elsewhere"), http.MethodGet, "/tunnel")); !strings.Contains(got, "not built") {
		t.Errorf("unbuilt: %q", got)
	}
}

func TestMissingFilesAreNotThePage(t *testing.T) {
	h := newHandler(build, allPages, "ask elsewhere")
	for _, target := range []string{
		"/assets/index-old.js", "/robots.txt", "/.gitkeep", "/assets/.hidden", "/assets", "/assets/", "/index.html/",
		"/some/view?fence=a/b", "/index", "/tunnel/", "/rules/", "/page.html", "/page", "/varz",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := get(t, h, method, target)
			if text := body(t, r); r.StatusCode != http.StatusNotFound || !strings.Contains(text, "; ask elsewhere") {
				t.Errorf("%s %s: status %d, want 404: %q", method, target, r.StatusCode, text)
			}
		}
	}
}

// An optional page is there if it is named, and then each document names it, for the navigation.
func TestOptionalPages(t *testing.T) {
	files := fstest.MapFS{"index.html": {Data: []byte(`<!doctype html><html lang="en"><p>`)}, "page.html": {Data: []byte(`<html lang="en"><i>`)}}
	without, with := newHandler(files, allPages, "ask elsewhere"), newHandler(files, allPages, "ask elsewhere", RunsPage)
	for target, want := range map[string][2]string{
		"/":                   {`<!doctype html><html lang="en"><p>`, `<!doctype html><html lang="en" data-pages="runs"><p>`},
		"/sets":               {`<html lang="en"><i>`, `<html lang="en" data-pages="runs"><i>`},
		"/runs?a=x&b=y&sort=": {"nothing at /runs; ask elsewhere\n", `<html lang="en" data-pages="runs"><i>`},
		"/runs?c=x":           {"nothing at /runs; ask elsewhere\n", "query: the page has no parameter \"c\"; ask elsewhere\n"},
	} {
		for i, h := range []http.Handler{without, with} {
			if got := body(t, get(t, h, http.MethodGet, target)); got != want[i] {
				t.Errorf("%s: %q, want %q", target, got, want[i])
			}
		}
	}
}

// A page accepts the queries that it writes itself.
func TestUnknownQueries(t *testing.T) {
	built, unbuilt := newHandler(build, allPages, "ask elsewhere"), newHandler(fstest.MapFS{}, allPages, "ask elsewhere")
	for target, want := range map[string]int{
		"/?past=a,b&t=c&speed=60": 200, "/?at=1,2,3&fence=a/b": 200, "/?": 200, "/?&": 200, "/?q": 200, "/?q=%": 200, "/index.html?hide=a": 200, "/tunnel?find=x": 200,
		"/?rule=a": 200, "/sets?set=a": 200, "/rules?rule=a&set=b&q=c": 200, "/webhooks?id=a&attempt=1": 200, "/keys?by=a": 200,
		"/devices?door=http": 200, "/bus": 200, "/wire": 200, "/wire?find=x": 200, "/wire?id=7": 400, "/cluster": 200, "/rules?id=7": 400,
		"/?rule=overstay": 200, "/?edit=depots/north": 200, "/?draw=polygon": 200,
		"/?id=7&lat=1&lon=2": 400, "/?at=1,2,3&id=7": 400, "/?=7": 400, "/?AT=1": 400, "/?at;id=7": 400, "/index.html?id=7": 400,
		"/tunnel?at=1,2,3": 400, "/?find=x": 400,
	} {
		for _, h := range []http.Handler{built, unbuilt} {
			if r := get(t, h, http.MethodGet, target); r.StatusCode != want {
				t.Errorf("%s: status %d, want %d", target, r.StatusCode, want)
			}
		}
	}
	r := get(t, built, http.MethodGet, "/?at=1,2,3&id=7")
	if got := body(t, r); got != "query: the page has no parameter \"id\"; ask elsewhere\n" {
		t.Errorf("%q", got)
	}
}

func TestMethods(t *testing.T) {
	h := newHandler(build, allPages, "ask elsewhere")
	r := get(t, h, http.MethodHead, "/")
	if r.StatusCode != http.StatusOK || body(t, r) != "" {
		t.Errorf("HEAD: status %d", r.StatusCode)
	}
	r = get(t, h, http.MethodPost, "/")
	if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", r.StatusCode, r.Header.Get("Allow"))
	}
}

// The page loads nothing from other origins and runs nothing inline. The policy must allow the page
// as it is served, built or not.
func TestPolicyAllowsOwnOriginOnly(t *testing.T) {
	for name, h := range map[string]http.Handler{"built": newHandler(build, allPages, "ask elsewhere"), "unbuilt": newHandler(fstest.MapFS{}, allPages, "ask elsewhere")} {
		csp := get(t, h, http.MethodGet, "/").Header.Get("Content-Security-Policy")
		for directive := range strings.SplitSeq(csp, "; ") {
			for _, source := range strings.Fields(directive)[1:] {
				switch source {
				case "'self'", "'none'", "data:", "blob:":
				default:
					t.Errorf("%s: %q allows %s", name, directive, source)
				}
			}
		}
		if !strings.HasPrefix(csp, "default-src 'none';") {
			t.Errorf("%s: policy %q", name, csp)
		}
	}
}

func TestUnbuiltSaysHowToBuild(t *testing.T) {
	files := fstest.MapFS{".gitkeep": {}}
	if built(files) {
		t.Fatal("a placeholder counts as a build")
	}
	r := get(t, newHandler(files, allPages, "ask elsewhere"), http.MethodGet, "/")
	text := body(t, r)
	if r.StatusCode != http.StatusOK || !strings.Contains(text, "make web") {
		t.Errorf("status %d, body %q", r.StatusCode, text)
	}
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("cache control %q", got)
	}
	if !built(build) {
		t.Error("a build counts as none")
	}
}

// One of the two pages is served, whether or not this binary has a dashboard.
func TestEmbedded(t *testing.T) {
	r := get(t, Handler(), http.MethodGet, "/")
	if r.StatusCode != http.StatusOK {
		t.Fatalf("status %d", r.StatusCode)
	}
	if got := strings.Contains(body(t, r), "make web"); got == built(dist()) {
		t.Errorf("the dashboard is built: %v, yet the page says how to build: %v", built(dist()), got)
	}
}
