// Package manual serves the documentation as HTML: the pages of docs, which are embedded in the
// binary, with their links, and a search over them. It needs no network and no script.
//
// Pages keep their names (guides/tls.md), so that their relative links lead where they should below
// any prefix.
package manual

import (
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"paddock/docs"
)

//go:embed assets
var assets embed.FS

// policy allows the styles, the script and the images of the pages themselves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// firstPage is shown at the root, and lists the others.
const firstPage = "README.md"

// types holds the content types of what is not a page.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
	".yaml": "text/plain; charset=utf-8", ".json": "application/json",
}

// Manual is a handler of the documentation. It is made of its files when they are first asked for,
// and safe for concurrent use.
type Manual struct {
	files fs.FS
	book  func() *book
}

// New returns the documentation of this program. Its root is /; elsewhere [http.StripPrefix] takes
// the prefix off, and the prefix ends with a slash.
func New() *Manual { return of(docs.Files) }

func of(files fs.FS) *Manual {
	return &Manual{files: files, book: sync.OnceValue(func() *book { return bind(files) })}
}

var frame = template.Must(template.ParseFS(assets, "assets/page.html"))

// shown is what the template shows.
type shown struct {
	Root   string // of the manual, relative to the page
	Title  string
	Query  string // of a search
	Parts  []part // of the list of pages
	Page   string // the name of this page, "" for others
	Body   template.HTML
	Search *results // nil: this is no answer to a search
}

// ServeHTTP answers GET and HEAD. Pages take no query, and the search takes q.
func (m *Manual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // another version of the program has other pages
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		m.refuse(w, name, http.StatusMethodNotAllowed, "This page takes GET.")
	case name == "search":
		m.search(w, r)
	case r.URL.RawQuery != "":
		m.refuse(w, name, http.StatusBadRequest, "A page takes no query.")
	case name == firstPage:
		h.Set("Location", "./")
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		m.show(w, name)
	}
}

// show answers with a page or a file.
func (m *Manual) show(w http.ResponseWriter, name string) {
	if name == "" {
		name = firstPage
	}
	b := m.book()
	if p := b.pages[name]; p != nil {
		s := shown{Title: p.Title, Page: name, Body: p.Body}
		if name == firstPage {
			name = ""
		}
		m.write(w, name, http.StatusOK, &s)
		return
	}
	content, err := fs.ReadFile(assets, "assets/"+name)
	if err != nil || path.Ext(name) == ".html" {
		content, err = fs.ReadFile(m.files, name)
	}
	kind, known := types[path.Ext(name)]
	if err != nil || !known {
		m.refuse(w, name, http.StatusNotFound, "There is no such page.")
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content) // a client that has gone needs no answer
}

// refuse answers with a page that has the reason.
func (m *Manual) refuse(w http.ResponseWriter, name string, status int, reason string) {
	m.write(w, name, status, &shown{Title: http.StatusText(status), Body: template.HTML("<h1>" + reason + "</h1>")}) //nolint:gosec // a text of this file
}

// write sends a page that stands at a name.
func (m *Manual) write(w http.ResponseWriter, name string, status int, s *shown) {
	s.Root, s.Parts = "./"+strings.Repeat("../", strings.Count(name, "/")), m.book().parts
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = frame.Execute(w, s) // a client that has gone needs no answer
}
