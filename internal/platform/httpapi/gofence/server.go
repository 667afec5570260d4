package gofence

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/access"
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
	guard := access.NewGuard(token)
	return plainhttp.New(plainhttp.Options{
		Answer: h.AppendAnswer,
		Admits: func(peer net.Addr, _, authorization string) bool { return guard.Admits(peer, authorization) },
		Cold:   NewCold(h, guard, log),
		Logger: log,
	})
}

// NewCold returns a server of the same with net/http alone.
func NewCold(h http.Handler, guard *access.Guard, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           RequireToken(guard, http.NewCrossOriginProtection().Handler(h)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext:       access.ConnContext,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
