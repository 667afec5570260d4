// Package ui serves the dashboard: the files that Vite builds from web/ into dist/, embedded in the
// binary.
//
// The folder is not under version control except for an empty file that keeps it, so the package
// compiles without Node. A binary built that way has no dashboard. It serves a page with build
// instructions, and all other parts of Paddock work.
package ui

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

//go:embed all:dist
var embedded embed.FS

//go:embed unbuilt.html
var unbuilt []byte

// The documents, which link to all other files. The map has one of its own. All other pages are one
// document, which loads the code of the page that its URL names.
const (
	indexFile = "index.html"
	pageFile  = "page.html"
)

// assetPrefix holds the files whose names contain a hash of their contents, so a file never
// changes.
const assetPrefix = "assets/"

// policy allows what the page needs, from its own origin only: scripts, styles, the map's worker,
// the API and its WebSocket. The map library's own icons are data: URLs. No site may embed the
// page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data: blob:; connect-src 'self'; worker-src 'self' blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const policyHeader = "Content-Security-Policy"

// contentTypes holds the types of all files of a build. The system's tables are not used, because
// they differ between machines.
var contentTypes = map[string]string{
	".html":        "text/html; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".ico":         "image/x-icon",
	".woff2":       "font/woff2",
	".txt":         "text/plain; charset=utf-8",
}

// Handler serves the dashboard, or the page with build instructions. It does not clean paths: mount
// it at the root, below more specific routes.
//
// A page is only at its own URLs, with the query parameters that it writes itself. Every other
// request is an error in plain text, so that a program with a wrong URL does not take a page for
// success. The methods are GET and HEAD. Hashed assets may be cached for ever; the page is
// revalidated each time.
//
// optional names the pages that not every platform has, such as RunsPage. The others of them are
// not there, and the navigation has no link to them.
func Handler(optional ...string) http.Handler {
	return newHandler(dist(), allPages, "positions go to POST /v1/positions, and GET /v1/openapi.json lists the endpoints", optional...)
}

// TunnelHandler is like Handler, for a process that is only a tunnel's server: the tunnel's page is
// at its root.
func TunnelHandler() http.Handler {
	return newHandler(dist(), tunnelPages, "the tunnel's page is at /, its figures are at GET /v1/tunnel")
}

// AllowTiles returns h, whose pages may ask one more origin for map tiles; "" is none. Without it
// no page asks anything of another host.
func AllowTiles(h http.Handler, origin string) http.Handler {
	if origin == "" {
		return h
	}
	wider := strings.NewReplacer("img-src 'self'", "img-src 'self' "+origin, "connect-src 'self'", "connect-src 'self' "+origin).Replace(policy)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(policyHeader, wider)
		h.ServeHTTP(w, r)
	})
}

func dist() fs.FS {
	sub, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic(err) // "dist" is a valid path
	}
	return sub
}

func built(files fs.FS) bool {
	info, err := fs.Stat(files, indexFile)
	return err == nil && info.Mode().IsRegular()
}

// A page is one URL of the dashboard.
type page struct {
	file       string   // its document
	parameters []string // of the queries that it writes itself
}

// allPages holds the pages by their paths. The parameters are those of formatView in
// web/src/view.ts, and of the modules in web/src/pages.
var allPages = map[string]page{
	"":         mapPage,
	indexFile:  mapPage,
	"sets":     {pageFile, []string{"set"}},
	"rules":    {pageFile, []string{"rule", "set", "q"}},
	"webhooks": {pageFile, []string{"id", "attempt", "sink"}},
	"keys":     {pageFile, []string{"key", "by", "object"}},
	"devices":  {pageFile, []string{"door"}},
	"bus":      {pageFile, []string{"find"}},
	"wire":     {pageFile, []string{"find"}},
	"cluster":  {pageFile, nil},
	"tunnel":   tunnelPage,
}

// RunsPage is the page of the lab's runs.
const RunsPage = "runs"

// optionalPages holds the pages that a handler has only if they are named.
var optionalPages = map[string]page{RunsPage: {pageFile, []string{"a", "b", "sort"}}}

// tunnelPages holds the pages of a process that is only a tunnel's server.
var tunnelPages = map[string]page{"": tunnelPage, "tunnel": tunnelPage}

var (
	mapPage    = page{indexFile, []string{"at", "fence", "object", "record", "set", "event", "rule", "fleet", "state", "q", "hide", "colour", "edit", "draw", "past", "t", "speed"}}
	tunnelPage = page{pageFile, []string{"find"}}
)

type handler struct {
	files fs.FS
	pages map[string]page // by path
	hint  string          // other URLs, for error texts
	built bool
	marks []byte // the element html of a page, which names the optional pages; nil: there are none
}

// rootElement begins each document of a build.
const rootElement = `<html lang="en"`

func newHandler(files fs.FS, pages map[string]page, hint string, optional ...string) http.Handler {
	h := &handler{files: files, pages: maps.Clone(pages), hint: hint, built: built(files)}
	for _, name := range optional {
		h.pages[name] = optionalPages[name]
		h.marks = fmt.Appendf(nil, `%s data-pages="%s"`, rootElement, strings.Join(optional, " "))
	}
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isPath := nameOf(r.URL.Path)
	asked, isPage := h.pages[name]
	isPage = isPage && isPath
	bad := ""
	if isPage {
		name, bad = asked.file, unknown(r.URL.RawQuery, asked.parameters)
	}
	content, found := h.read(name)
	found = found && isPath && (isPage || path.Ext(name) != ".html")
	switch {
	case !found && (!isPage || h.built):
		h.refuse(w, http.StatusNotFound, fmt.Sprintf("nothing at %.256s", r.URL.Path))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		h.refuse(w, http.StatusMethodNotAllowed, "this path takes GET, HEAD")
	case bad != "":
		h.refuse(w, http.StatusBadRequest, fmt.Sprintf("query: the page has no parameter %.64q", bad))
	case found:
		if isPage && h.marks != nil {
			content = bytes.Replace(content, []byte(rootElement), h.marks, 1)
		}
		serve(w, r, name, content)
	default:
		w.Header().Set("Cache-Control", "no-store")
		write(w, r, ".html", unbuilt)
	}
}

// nameOf returns the name of a page or file at a path, "" for the root. ok reports whether there
// can be one.
func nameOf(urlPath string) (name string, ok bool) {
	name = strings.TrimPrefix(path.Clean("/"+urlPath), "/")
	return name, name == "" || !strings.HasSuffix(urlPath, "/")
}

// unknown returns the first parameter of a query that is not in known, or "". The pages decode
// their parameters themselves, so nothing is decoded here.
func unknown(query string, known []string) string {
	for part := range strings.SplitSeq(query, "&") {
		if name, _, _ := strings.Cut(part, "="); part != "" && !slices.Contains(known, name) {
			return cmp.Or(name, part)
		}
	}
	return ""
}

func (h *handler) refuse(w http.ResponseWriter, status int, reason string) {
	http.Error(w, reason+"; "+h.hint, status)
}

// read returns a file of the build. Hidden files are not part of it.
func (h *handler) read(name string) ([]byte, bool) {
	if name == "" || strings.HasPrefix(path.Base(name), ".") {
		return nil, false
	}
	content, err := fs.ReadFile(h.files, name)
	return content, err == nil
}

func serve(w http.ResponseWriter, r *http.Request, name string, content []byte) {
	cache := "no-cache"
	if strings.HasPrefix(name, assetPrefix) {
		cache = "public, max-age=31536000, immutable"
	}
	w.Header().Set("Cache-Control", cache)
	write(w, r, path.Ext(name), content)
}

func write(w http.ResponseWriter, r *http.Request, ext string, content []byte) {
	contentType, ok := contentTypes[ext]
	if !ok {
		contentType = "application/octet-stream"
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	if header.Get(policyHeader) == "" { // see AllowTiles
		header.Set(policyHeader, policy)
	}
	// A build has no modification time: names and no-cache control the caching.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
