package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// protect wraps all routes: who may come in, and from which pages.
//
// A browser that shows another site must not be able to post positions here, so
// unsafe requests from other origins are refused, also without a token.
func (a *API) protect(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, fail(http.StatusForbidden, "cross-origin request from a browser"))
	}))
	next = origins.Handler(next)
	if a.cfg.Token == "" {
		return onlyLocalNames(next)
	}
	want := sha256.Sum256([]byte(a.cfg.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || authorized(r, want) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Add("WWW-Authenticate", `Bearer realm="paddock"`)
		w.Header().Add("WWW-Authenticate", `Basic realm="paddock", charset="UTF-8"`)
		writeProblem(w, fail(http.StatusUnauthorized, "send the token as Authorization: Bearer TOKEN, or as the password of Basic"))
	})
}

// onlyLocalNames refuses requests for a host that is neither an address nor
// localhost. Without a token, a web page whose name was made to resolve to this
// machine (DNS rebinding) would otherwise be of the same origin.
func onlyLocalNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err == nil || host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
			next.ServeHTTP(w, r)
			return
		}
		writeProblem(w, fail(http.StatusMisdirectedRequest, "host %q: without a token only addresses and localhost are answered", host))
	})
}

// authorized compares digests, so that neither content nor length of the token
// shows in the time it takes.
func authorized(r *http.Request, want [sha256.Size]byte) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, token, ok = r.BasicAuth()
	}
	got := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// methodWriter turns the mux's own 405, which is plain text, into a problem.
type methodWriter struct {
	http.ResponseWriter
	replaced bool
}

func (w *methodWriter) WriteHeader(status int) {
	h := w.Header()
	if status == http.StatusMethodNotAllowed && h.Get("Content-Type") != "application/problem+json" {
		w.replaced = true
		h.Del("X-Content-Type-Options")
		writeProblem(w.ResponseWriter, fail(status, "this path takes %s", h.Get("Allow")))
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *methodWriter) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *methodWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (a *API) notInV1(_ http.ResponseWriter, r *http.Request) error {
	return fail(http.StatusNotFound, "no endpoint %s; GET /v1/openapi.json lists them", r.URL.Path)
}
