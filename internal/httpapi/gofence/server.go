package gofence

import (
	"log/slog"
	"net/http"
	"time"

	"paddock/internal/access"
	"paddock/internal/plainhttp"
)

// The times after which a client that does not go on loses its connection. The
// original knew none: a few thousand half-sent requests ended it.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute     // head and body: 64 MiB at 1 MB/s
	writeTimeout      = 2 * time.Minute // from the head on; bounds what /debug/pprof/profile?seconds= may ask for
	idleTimeout       = 2 * time.Minute // between requests
)

// NewServer returns the server of `paddock fence`: h behind the token, which may be
// empty, and closed to pages of other sites, which could otherwise make the browser
// of a developer add fences to a service on loopback. What is asked most is answered
// without net/http.
func NewServer(h *Handler, token string, log *slog.Logger) *plainhttp.Server {
	want := access.NewToken(token)
	return plainhttp.New(plainhttp.Options{
		Answer: h.AppendAnswer,
		Admits: func(_, authorization string) bool { return want.Admits(authorization) },
		Cold:   NewCold(h, token, log),
		Logger: log,
	})
}

// NewCold returns a server of the same with net/http alone.
func NewCold(h http.Handler, token string, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           RequireToken(token, http.NewCrossOriginProtection().Handler(h)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
