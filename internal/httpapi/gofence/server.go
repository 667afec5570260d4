package gofence

import (
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/access"
	"paddock/internal/httpapi/front"
)

// The times after which a client that does not go on loses its connection. The
// original knew none: a few thousand half-sent requests ended it.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute     // head and body: 64 MiB at 1 MB/s
	writeTimeout      = 2 * time.Minute // from the head on; bounds what /debug/pprof/profile?seconds= may ask for
	idleTimeout       = 2 * time.Minute // between requests
)

// NewFront returns the server of `paddock fence`: that of NewServer, and before
// it a hot side for what is asked most.
func NewFront(h *Handler, token string, log *slog.Logger) *front.Server {
	want := access.NewToken(token)
	return front.New(front.Routes{
		Takes: func(r *front.Head) bool { return h.Takes(r) && want.Admits(string(r.Authorization)) },
		Serve: h.ServeHot,
	}, NewServer(h, token, log), log)
}

// NewServer returns a server with net/http alone: h behind the token, which
// may be empty, and closed to pages of other sites, which could otherwise make
// the browser of a developer add fences to a service on loopback.
func NewServer(h http.Handler, token string, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           RequireToken(token, http.NewCrossOriginProtection().Handler(h)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
