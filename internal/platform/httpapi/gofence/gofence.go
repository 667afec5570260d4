// Package gofence serves the HTTP interface of the original gofence, byte for byte, over the sets
// of a fence.Catalog:
//
//	GET  /engarde                              is it there
//	GET  /fence                                names of the sets
//	POST /fence/{name}/search                  a GeoJSON point Feature: which fences hold it
//	GET  /fence/{name}/search?lat=&lon=&k=v    the same from parameters
//	POST /fence/{name}/add                     one more fence, until the process ends
//
// Status lines, bodies and the original's headers are the same. The router is the same too, and
// with it redirects, 404, 405 and OPTIONS. This package differs where the original gave a wrong
// answer, lost data silently or crashed; docs/reference/gofence.md lists each case.
//
// A request takes one snapshot of one set and no lock. Bodies and answers are bounded:
// maxSearchBody, maxAddBody, maxAnswer, and maxBodies for all bodies together.
package gofence

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/julienschmidt/httprouter"

	"paddock/fence"
	"paddock/internal/platform/budget"
)

// Options configure New. The zero value serves the five routes and logs
// nothing.
type Options struct {
	Profile bool         // also serve /debug/pprof/, for GET and POST
	Logger  *slog.Logger // nil discards

	// Change calls change, which changes a set for a request, unless it refuses that, and returns
	// once the change is durable. Nil: a change ends with the process.
	Change func(r *http.Request, set string, change func() error) error

	// May reports whether the sender of a request may look up points in a set, or change it. Nil:
	// always.
	May func(r *http.Request, set string, change bool) bool

	// MaxBodies bounds the bodies over 64 KiB of all requests together, in bytes.
	// 0 is 256 MiB.
	MaxBodies int64
}

// Handler answers the routes of the package comment. It is safe for concurrent use.
type Handler struct {
	router  *httprouter.Router
	serving atomic.Pointer[serving]
	bodies  *budget.Budget
	change  func(r *http.Request, set string, change func() error) error
	may     func(r *http.Request, set string, change bool) bool
	log     *slog.Logger
}

// serving is the state that a request uses from its start to its end. A new catalog brings new
// renderings; the old ones are freed with the last request that uses them.
type serving struct {
	catalog    *fence.Catalog
	renderings renderings
}

var _ http.Handler = (*Handler)(nil)

// New returns a handler that answers from c.
func New(c *fence.Catalog, o Options) *Handler {
	h := &Handler{router: httprouter.New(), log: o.Logger, bodies: budget.New(cmp.Or(o.MaxBodies, maxBodies))}
	if h.change = o.Change; h.change == nil {
		h.change = func(_ *http.Request, _ string, change func() error) error { return change() }
	}
	if h.may = o.May; h.may == nil {
		h.may = func(*http.Request, string, bool) bool { return true }
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.Use(c)
	h.router.GET("/engarde", h.engarde)
	h.router.GET("/fence", h.list)
	h.router.POST("/fence/:name/add", h.permit(true, h.add))
	h.router.POST("/fence/:name/search", h.permit(false, h.searchBody))
	h.router.GET("/fence/:name/search", h.permit(false, h.searchQuery))
	if o.Profile {
		mountProfiles(h.router)
	}
	return h
}

// Use makes c the catalog of new requests, all sets at once. Requests in progress finish with their
// catalog.
func (h *Handler) Use(c *fence.Catalog) { h.serving.Store(&serving{catalog: c}) }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.router.ServeHTTP(w, r) }

// permit refuses requests about a set that their sender may not use so.
func (h *Handler) permit(change bool, next httprouter.Handle) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
		if !h.may(r, ps.ByName("name"), change) {
			refuse(w, &refusal{http.StatusForbidden, "The key is not for this"})
			return
		}
		next(w, r, ps)
	}
}

// Owns reports whether a path belongs to this interface, in any case and with any slashes or dots
// that its router would redirect. A server with other routes calls it before its own router cleans
// the path in its own way.
func Owns(urlPath string) bool {
	first, _, _ := strings.Cut(path.Clean("/" + urlPath)[1:], "/")
	return strings.EqualFold(first, "engarde") || strings.EqualFold(first, "fence")
}

const touche = "Touché!"

func (h *Handler) engarde(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
	respond(w, "text/plain", []byte(touche))
}

// list answers without the headers of the other routes: the original left this one to net/http,
// which detected text.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	names := []string{}
	for _, name := range h.serving.Load().catalog.Names() {
		if h.may(r, name, false) {
			names = append(names, name)
		}
	}
	body, err := json.Marshal(names)
	if err != nil { // strings always marshal
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	write(w, body)
}

// respond writes a successful answer with the headers of the original.
func respond(w http.ResponseWriter, contentType string, body []byte) {
	header := w.Header()
	header.Set("Server", "gofence")
	header.Set("Connection", "keep-alive")
	header.Set("Content-Type", contentType)
	write(w, body)
}

// write ignores errors, because they mean that the client is gone.
func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// refusal is an error with its status and its line.
type refusal struct {
	status int
	line   string
}

func (e *refusal) Error() string { return e.line }

func badRequest(line string) error { return &refusal{http.StatusBadRequest, line} }

func tooLarge(line string) error { return &refusal{http.StatusRequestEntityTooLarge, line} }

// refuse answers with one line of plain text. The default status is 400.
func refuse(w http.ResponseWriter, err error) {
	header, line := w.Header(), err.Error()+"\n"
	header.Set("Content-Type", refusalType)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Length", strconv.Itoa(len(line)))
	w.WriteHeader(statusOf(err))
	_, _ = io.WriteString(w, line) // the client may be gone
}

const refusalType = "text/plain; charset=utf-8"

func statusOf(err error) int {
	if r, ok := err.(*refusal); ok {
		return r.status
	}
	return http.StatusBadRequest
}
