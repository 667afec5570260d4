package httpapi

import (
	"net"
	"net/http"

	"paddock/internal/process/access"
)

// protect wraps all routes with authentication and a check of the origin.
//
// A page of another site must not be able to post positions from a browser. So unsafe requests from
// other origins are refused, even without a token.
func (a *API) protect(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, fail(http.StatusForbidden, "cross-origin request from a browser"))
	}))
	next = origins.Handler(next)
	if !a.access.Required() {
		return onlyLocalNames(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}
		switch a.access.Judge(r) {
		case access.Refused:
			w.Header()["Www-Authenticate"] = access.Challenge
			writeProblem(w, fail(http.StatusUnauthorized, "send the token as Authorization: Bearer TOKEN, or as the password of Basic"))
		case access.Paused:
			writeProblem(w, fail(http.StatusTooManyRequests, "too many wrong tokens came from your address: try again later"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// admits makes the checks of protect for the fast path. If it returns false, protect answers with
// the reason.
func (a *API) admits(peer net.Addr, host, authorization string) bool {
	if a.access.Required() {
		return a.access.Admits(peer, authorization)
	}
	return access.LocalName(host)
}

// onlyLocalNames refuses requests for a host that is neither an address nor
// localhost, see access.LocalName.
func onlyLocalNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if access.LocalName(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		writeProblem(w, fail(http.StatusMisdirectedRequest, "host %.64q: without a token only addresses and localhost are answered", r.Host))
	})
}
