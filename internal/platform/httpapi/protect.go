package httpapi

import (
	"net/http"
	"slices"

	"paddock/internal/process/access"
	"paddock/internal/process/keyring"
)

// protect wraps all routes with authentication and a check of the origin. A request reaches its
// route with the grant of its credentials.
//
// A page of another site must not be able to post positions from a browser. So unsafe requests from
// other origins are refused, even where no credentials are required.
func (a *API) protect(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	for _, origin := range a.cfg.CORSOrigins {
		_ = origins.AddTrustedOrigin(origin) // the configuration has been checked
	}
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, fail(http.StatusForbidden, "cross-origin request from a browser"))
	}))
	return a.shared(origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := a.gate.required || access.LocalName(r.Host)
		health := r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
		if health && local || r.URL.Path == sessionPath && r.Method == http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		g := a.gate.judge(w, r)
		switch {
		case g == nil:
		case g == a.gate.anyone && !local:
			writeProblem(w, fail(http.StatusMisdirectedRequest, "host %.64q: without a key only addresses and localhost are answered", r.Host))
		default:
			next.ServeHTTP(w, r.WithContext(keyring.With(r.Context(), g)))
		}
	})))
}

// shared lets pages of the configured origins read answers (CORS). Cookies are not for them: they
// send a key.
func (a *API) shared(next http.Handler) http.Handler {
	if len(a.cfg.CORSOrigins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(a.cfg.CORSOrigins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate")
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, "+cursorHeader+", "+nextHeader)
		next.ServeHTTP(w, r)
	})
}
