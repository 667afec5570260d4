package gofence

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/julienschmidt/httprouter"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/access"
)

// The timeouts for slow clients. The original had none: a few thousand incomplete requests used it
// up.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute     // head and body: 64 MiB at 1.12 MB/s
	writeTimeout      = 2 * time.Minute // from the head on; also bounds /debug/pprof/profile?seconds=
	idleTimeout       = 2 * time.Minute // between requests
)

// NewServer returns the server of `paddock fence`: h with an optional token. It refuses POSTs from
// pages of other sites, which could otherwise add fences by the browser of a developer. Without a
// token it answers for addresses and localhost alone, see [access.LocalName]. The most common
// requests are answered without net/http.
func NewServer(h *Handler, token string, log *slog.Logger) *plainhttp.Server {
	guard := access.NewGuard(token)
	return plainhttp.New(plainhttp.Options{
		Answer: h.AppendAnswer,
		Admits: func(peer net.Addr, host, authorization string) (<-chan struct{}, bool) {
			return nil, guard.Admits(peer, authorization) && answersTo(guard, host)
		},
		Fallback: NewFallback(h, guard, log),
		Logger:   log,
	})
}

// NewFallback returns a server with the same answers through net/http alone.
func NewFallback(h http.Handler, guard *access.Guard, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           Protect(guard, http.NewCrossOriginProtection().Handler(h)),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext:       access.ConnContext,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// answersTo reports whether requests for a host are answered: for all of them only with a token.
func answersTo(guard *access.Guard, host string) bool {
	return guard.Required() || access.LocalName(host)
}

// Protect admits requests with the token, see [access.Guard]. Other requests get 401, and an
// address that has sent too many wrong tokens gets 429; neither answer tells which paths exist. The
// original has no authentication: an empty token admits every request for an address or localhost.
func Protect(guard *access.Guard, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answersTo(guard, r.Host) {
			refuse(w, &refusal{http.StatusMisdirectedRequest, "without a token only addresses and localhost are answered: start with --token"})
			return
		}
		switch guard.Judge(r) {
		case access.Refused:
			w.Header()["Www-Authenticate"] = access.Challenge
			refuse(w, &refusal{http.StatusUnauthorized, "Token required"})
		case access.Paused:
			w.Header().Set("Retry-After", access.Wait)
			refuse(w, &refusal{http.StatusTooManyRequests, "too many wrong tokens came from your address"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// mountProfiles serves exactly the profiles that the original served.
func mountProfiles(router *httprouter.Router) {
	handlers := map[string]http.Handler{
		"":             http.HandlerFunc(pprof.Index),
		"cmdline":      http.HandlerFunc(pprof.Cmdline),
		"profile":      http.HandlerFunc(pprof.Profile),
		"symbol":       http.HandlerFunc(pprof.Symbol),
		"heap":         pprof.Handler("heap"),
		"block":        pprof.Handler("block"),
		"goroutine":    pprof.Handler("goroutine"),
		"threadcreate": pprof.Handler("threadcreate"),
	}
	for name, handler := range handlers {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			router.Handler(method, "/debug/pprof/"+name, handler)
		}
	}
}
