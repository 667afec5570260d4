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
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal/audit"
)

// Problem is an error in the form for clients: RFC 9457, application/problem+json.
type Problem struct {
	Type   string `json:"type"` // a reference to docs, or about:blank
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	// Oldest is the oldest valid cursor, if the requested one is gone.
	Oldest string `json:"oldest,omitempty"`
	// Findings are the defects of a fence, if it was refused for them.
	Findings []findingJSON `json:"findings,omitempty"`
}

func (p *Problem) Error() string { return p.Title + ": " + p.Detail }

// fail returns a problem; its detail says how to correct the request.
func fail(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// handler is an endpoint that may fail. If it returns an error, it has not answered; an error other
// than a *Problem becomes a 500.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	if err == nil {
		return
	}
	p, ok := errors.AsType[*Problem](err)
	switch {
	case ok:
	case errors.Is(err, ingest.ErrReplica):
		p = notLeader(err)
	case errors.Is(err, audit.ErrEntry):
		p = fail(http.StatusServiceUnavailable, "%v", err)
	default:
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
	_, _ = w.Write(text) // the client may be gone
}

const problemType = "application/problem+json"

// text returns the body of the answer.
func (p *Problem) text() []byte {
	text, _ := events.PlainJSON(p) // strings and numbers always encode
	return append(text, '\n')
}

// retryLater sets Retry-After for a temporary refusal.
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

// params returns the query. It refuses unknown names, because a misspelt filter would silently
// select everything.
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

// flag reports whether the parameter name is set.
func flag(r *http.Request, name string) (bool, error) {
	switch v := r.URL.Query().Get(name); v {
	case "1", "true":
		return true, nil
	case "", "0", "false":
		return false, nil
	default:
		return false, fail(http.StatusBadRequest, "query: %s %.64q: use 0 or 1", name, v)
	}
}

// count reads the parameter name, a number from 1 to most.
func count(name, text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fail(http.StatusBadRequest, "query: %s %.64q is not a number from 1 to %d", name, text, most)
	}
	return n, nil
}

// problemWriter converts plain-text errors of others into problems: of the WebSocket library about
// a handshake, of the dashboard about a URL.
type problemWriter struct {
	http.ResponseWriter
	status int // of an error whose text is still missing; 0: no error, -1: it is written
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
