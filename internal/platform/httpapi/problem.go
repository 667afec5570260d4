package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"paddock/internal/platform/events"
)

// Problem is an error as clients see it: RFC 9457, application/problem+json.
type Problem struct {
	Type   string `json:"type"` // a reference to docs, or about:blank
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	// Oldest is the oldest cursor that can still be read, where the one that was
	// asked for is gone.
	Oldest string `json:"oldest,omitempty"`
}

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// fail makes a problem that says what to do.
func fail(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// handler is an endpoint that may fail. A returned error has not been answered;
// what is no *Problem becomes a 500.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	p, ok := errors.AsType[*Problem](err)
	if !ok {
		p = fail(http.StatusInternalServerError, "%v", err)
	}
	writeProblem(w, p)
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	h, text := w.Header(), p.text()
	h.Set("Content-Type", problemType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	h.Set("Cache-Control", "no-store")
	retryLater(h, p.Status)
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // the client may be gone; nobody else cares
}

const problemType = "application/problem+json"

// text is the body of the answer.
func (p *Problem) text() []byte {
	text, _ := events.PlainJSON(p) // strings and numbers always encode
	return append(text, '\n')
}

// retryLater tells clients when to come again after a refusal that will pass.
func retryLater(h http.Header, status int) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := events.PlainJSON(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	retryLater(w.Header(), status)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// params returns the query, refusing names that the endpoint does not know: a
// filter with a typing error would silently select everything.
func params(r *http.Request, known ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "query: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q)) { // the first error is always the same
		if len(known) == 0 {
			return nil, fail(http.StatusBadRequest, "query: unknown parameter %.64q: there are none", name)
		}
		if !slices.Contains(known, name) {
			return nil, fail(http.StatusBadRequest, "query: unknown parameter %.64q: use %s", name, strings.Join(known, ", "))
		}
		if n := len(q[name]); n > 1 {
			return nil, fail(http.StatusBadRequest, "query: parameter %q given %d times", name, n)
		}
	}
	return q, nil
}

// problemWriter turns errors that others answer in plain text into problems: of the
// WebSocket library about a handshake, of the dashboard about its address.
type problemWriter struct {
	http.ResponseWriter
	status int // of an error whose text has yet to come; 0 if there is none, -1 if it has
}

func (w *problemWriter) WriteHeader(status int) {
	if status < 400 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.status = status
}

func (w *problemWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	if w.status > 0 {
		w.Header().Del("X-Content-Type-Options")
		writeProblem(w.ResponseWriter, fail(w.status, "%s", bytes.TrimSpace(b)))
		w.status = -1
	}
	return len(b), nil
}

// Unwrap lets http.ResponseController and the WebSocket library reach the
// connection.
func (w *problemWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
