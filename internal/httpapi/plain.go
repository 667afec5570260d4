package httpapi

import (
	"bytes"
	"net/http"
	"strings"
)

// problemWriter turns errors that others answer in plain text into problems:
// the mux's 405, and what the WebSocket library says of a bad handshake.
type problemWriter struct {
	http.ResponseWriter
	status int // of an error whose text has yet to come; 0 if there is none
}

func (w *problemWriter) WriteHeader(status int) {
	plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain")
	switch {
	case status < 400 || !plain:
		w.ResponseWriter.WriteHeader(status)
	case status == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "":
		w.problem(fail(status, "this path takes %s", w.Header().Get("Allow")))
	default:
		w.status = status
	}
}

func (w *problemWriter) problem(p *Problem) {
	h := w.Header()
	h.Del("X-Content-Type-Options")
	h.Del("Content-Length")
	w.status = -1
	writeProblem(w.ResponseWriter, p)
}

func (w *problemWriter) Write(b []byte) (int, error) {
	switch {
	case w.status == 0:
		return w.ResponseWriter.Write(b)
	case w.status > 0:
		w.problem(fail(w.status, "%s", bytes.TrimSpace(b)))
	}
	return len(b), nil
}

// Unwrap lets http.ResponseController and the WebSocket library reach the
// connection.
func (w *problemWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
