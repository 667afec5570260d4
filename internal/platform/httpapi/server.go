package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/access"
)

// The times after which a client that does not go on loses its connection, and
// the room for the head of a request. The time for a body is Config.BodyTimeout.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute // between requests
	answerTimeout  = 2 * time.Minute // for an answer that is no stream, from the head of the request on
	maxHeaderBytes = 64 << 10
)

// NewServer returns the server of the API: what is asked most is answered without
// net/http.
func NewServer(a *API, log *slog.Logger) *plainhttp.Server { return a.before(NewFallback(a, log), log) }

// NewFallback returns a server of the same with net/http alone. The streams of events set
// deadlines of their own for each write.
func NewFallback(a *API, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       access.ConnContext,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn), // panics of handlers, descriptors used up
	}
}

// before puts the short way before a server of the API.
func (a *API) before(fallback *http.Server, log *slog.Logger) *plainhttp.Server {
	return plainhttp.New(plainhttp.Options{Answer: a.appendAnswer, Admits: a.admits, Fallback: fallback, Logger: log})
}
