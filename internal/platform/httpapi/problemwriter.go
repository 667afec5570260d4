package httpapi

import (
	"bytes"
	"net/http"
	"strings"
)

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
