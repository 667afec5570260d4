package manual

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// served is a manual below a prefix.
type served struct {
	t *testing.T
	h http.Handler
}

const prefix = "/docs/"

func serve(t *testing.T) *served {
	return &served{t, http.StripPrefix(strings.TrimSuffix(prefix, "/"), New())}
}

// do makes a request for a path below the prefix.
func (s *served) do(method, path string) *http.Response {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), method, prefix+path, nil))
	return w.Result()
}

func (s *served) get(path string, status int) string {
	s.t.Helper()
	r := s.do(http.MethodGet, path)
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status {
		s.t.Fatalf("%s: %s, %v", path, r.Status, err)
	}
	return string(body)
}

// document is what the tests read of a page.
type document struct {
	ids   map[string]int
	links []string // of anchors, images, styles, scripts and forms
	text  strings.Builder
	lang  string
}

func parse(t *testing.T, text string) *document {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{ids: map[string]int{}}
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			d.text.WriteString(n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				d.ids[a.Val]++
			case a.Key == "href", a.Key == "src", a.Key == "action":
				d.links = append(d.links, a.Val)
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("the policy forbids %s=%q", a.Key, a.Val)
			case a.Key == "lang":
				d.lang = a.Val
			}
		}
	}
	return d
}

// Each link of each page leads to a page or a file, and to a heading of it. Nothing is fetched from
// elsewhere.
func TestEveryLinkResolves(t *testing.T) {
	s := serve(t)
	documents := map[string]*document{}
	documentAt := func(name string) *document {
		if documents[name] == nil {
			documents[name] = parse(t, s.get(name, http.StatusOK))
		}
		return documents[name]
	}
	pages := []string{"", "search?q=fence"}
	for name := range New().book().pages {
		if name != firstPage {
			pages = append(pages, name)
		}
	}
	if len(pages) < 50 {
		t.Fatalf("%d pages", len(pages))
	}
	links, files := 0, map[string]bool{}
	for _, name := range pages {
		d := documentAt(name)
		for id, n := range d.ids {
			if n != 1 {
				t.Errorf("%s has %d elements %s", name, n, id)
			}
		}
		base, _ := url.Parse("http://host" + prefix + name)
		for _, link := range d.links {
			to, err := base.Parse(link)
			if err != nil {
				t.Errorf("%s: %q: %v", name, link, err)
				continue
			}
			if to.Host != "host" {
				continue
			}
			links++
			target, below := strings.CutPrefix(to.Path, prefix)
			switch ext := path.Ext(target); {
			case !below:
				t.Errorf("%s: %s leads out of the manual", name, link)
			case ext == "" && target != "" && target != "search":
				t.Errorf("%s: %s is no page", name, link)
			case ext != "" && ext != ".md":
				if !files[target] {
					s.get(target, http.StatusOK)
					files[target] = true
				}
			default:
				if target == firstPage {
					target = ""
				}
				if anchor := to.Fragment; anchor != "" && documentAt(target).ids[anchor] == 0 {
					t.Errorf("%s: %s has no #%s", name, target, anchor)
				}
			}
		}
	}
	if links < 4000 || !files["images/tunnel.png"] || !files["reference/paddock.example.yaml"] || !files["manual.css"] || !files["copy.js"] {
		t.Errorf("%d links, %v", links, files)
	}
}

var tableRule = regexp.MustCompile(`(?m)^ *\| *-{3,}`)

// Every page is in the list, and shows what the source has: code as it is, tables, and no mark that
// was not understood.
func TestPagesAreWhole(t *testing.T) {
	b := New().book()
	listed := 1
	for _, part := range b.parts {
		listed += len(part.Pages)
	}
	if listed != len(b.pages) || len(b.parts) < 4 {
		t.Errorf("%d of %d pages are listed, in %d parts", listed, len(b.pages), len(b.parts))
	}
	comment := regexp.MustCompile("(?s)```.*?```|`[^`]*`|<!--.*?-->")
	for name, p := range b.pages {
		source, err := New().files.(interface{ ReadFile(string) ([]byte, error) }).ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		omitted := strings.Count(string(p.Body), "raw HTML omitted")
		if want := strings.Count(string(source), "<!--"); omitted != want {
			t.Errorf("%s: %d pieces of HTML are left out, of %d comments: %q", name, omitted, want, regexp.MustCompile("<[a-z][^>\n]*>").FindAllString(comment.ReplaceAllString(string(source), ""), 3))
		}
		if tables := len(tableRule.FindAll(source, -1)); strings.Count(string(p.Body), "<table>") != tables {
			t.Errorf("%s has %d tables, of %d", name, strings.Count(string(p.Body), "<table>"), tables)
		}
		if p.Title == name || p.Title == "" {
			t.Errorf("%s has no title", name)
		}
	}
}

// The answers have a policy that allows nothing from elsewhere, and other requests are refused with
// a page.
func TestRefusals(t *testing.T) {
	s := serve(t)
	for path, want := range map[string]int{
		"": 200, "guides/tls.md": 200, "manual.css": 200, "README.md": 301, "search": 200, "search?q=": 200,
		"guides": 404, "guides/": 404, "guides/none.md": 404, "page.html": 404, "docs.go": 404, "results/main.go": 404, "../go.mod": 404, "%2e%2e/go.mod": 404,
		"guides//tls.md": 404, "?q=1": 400, "guides/tls.md?x": 400, "search?p=1": 400, "search?q=1&q=2": 400, "search?q=%ff": 400, "search?q=%zz": 400, "search?q=" + strings.Repeat("x", maxQuery+1): 400,
	} {
		r := s.do(http.MethodGet, path)
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != want || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, want %d: %v", path, r.Status, want, r.Header)
		}
		if d := parse(t, string(body)); want >= 400 && (d.lang != "en" || len(d.links) < 50) {
			t.Errorf("%s: %.200s", path, body)
		}
	}
	if r := s.do(http.MethodPost, "guides/tls.md"); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%s, %v", r.Status, r.Header)
	}
	if r := s.do(http.MethodGet, firstPage); r.Header.Get("Location") != "./" {
		t.Error(r.Header)
	}
}

// The search finds sections by words in any order and case, those with the words in their headings
// first. A query is text, never HTML.
func TestSearch(t *testing.T) {
	s := serve(t)
	for query, want := range map[string]string{
		"traceparent":               "reference/formats.md#traces",
		"retry-after WEBHOOK":       "guides/webhooks.md#when-an-endpoint-fails",
		"runbook":                   "guides/alerts.md#runbook",
		"journal.min_free how much": "guides/data.md#how-much",
	} {
		text := s.get("search?q="+url.QueryEscape(query), http.StatusOK)
		_, list, _ := strings.Cut(text, `<ol class="results">`)
		first, _, _ := strings.Cut(list, "</li>")
		if !strings.Contains(first, `href="./`+want+`"`) {
			t.Errorf("%s: the first result is %s", query, first)
		}
	}
	text := s.get("search?q="+url.QueryEscape(`<img src=x onerror=1>"'`), http.StatusOK)
	if strings.Contains(text, "<img") || !strings.Contains(text, "No section has all of these words.") || !strings.Contains(text, "&lt;img src=x onerror=1&gt;&#34;&#39;") {
		t.Error(text)
	}
	found := New().book().find("the")
	if len(found.Found) != maxResults || found.Total() < 200 {
		t.Errorf("%d results, %d in all", len(found.Found), found.Total())
	}
	for _, r := range found.Found {
		if len(r.Excerpt) > 3*excerpt+len("<mark></mark>")*excerpt || !strings.Contains(string(r.Excerpt), "<mark>") {
			t.Errorf("an excerpt of %d bytes: %s", len(r.Excerpt), r.Excerpt)
		}
	}
}

// Headings are named as the links of the pages expect it.
func TestAnchors(t *testing.T) {
	a := anchors{}
	for _, c := range [][2]string{
		{"How much", "how-much"},
		{"`paddock bus`, alone", "paddock-bus-alone"},
		{"A [link](x.md#y) — and more", "a-link--and-more"},
		{"Größe_1", "größe_1"},
		{"How much", "how-much-1"},
		{"How much", "how-much-2"},
	} {
		if got := string(a.Generate([]byte(c[0]), 0)); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}
