package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/access"
)

// The timeouts for slow clients, and the bound on the head of a request. Config.BodyTimeout bounds
// a body.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute // between requests
	answerTimeout  = 2 * time.Minute // for an answer other than a stream, from the head of the request on
	maxHeaderBytes = 64 << 10
)

// NewServer returns the server of the API, which answers the most common requests without net/http.
func NewServer(a *API, log *slog.Logger) *plainhttp.Server { return a.before(NewFallback(a, log), log) }

// NewFallback returns a server with the same answers through net/http alone. The streams of events
// set their own deadline for each write.
func NewFallback(a *API, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           a,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       access.ConnContext,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn), // panics of handlers, lack of descriptors
	}
}

// before puts the fast path in front of a server of the API.
func (a *API) before(fallback *http.Server, log *slog.Logger) *plainhttp.Server {
	return plainhttp.New(plainhttp.Options{Answer: a.appendAnswer, Admits: a.gate.admits, Fallback: fallback, Logger: log})
}
