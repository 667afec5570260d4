package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
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
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may be gone; nobody else cares
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
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
	for name, values := range q {
		if !slices.Contains(known, name) {
			return nil, fail(http.StatusBadRequest, "query: unknown parameter %q: use %s", name, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, fail(http.StatusBadRequest, "query: parameter %q given %d times", name, len(values))
		}
	}
	return q, nil
}

// bodyTimeout is how long a client may take to send a body.
const bodyTimeout = time.Minute

// readBody reads the whole body, at most limit bytes.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	tooLarge := fail(http.StatusRequestEntityTooLarge, "body: larger than %d bytes; send it in parts", limit)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every writer has one, as in tests
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, fail(http.StatusBadRequest, "body: %v", err)
	}
	return body, nil
}
