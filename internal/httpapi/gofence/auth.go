package gofence

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// RequireToken lets only those through that bring the token: as
// "Authorization: Bearer TOKEN", or as the password of Basic, for clients that
// know no other way. Others get 401 and learn nothing else, not even which
// paths exist. The original knows no authentication: an empty token lets
// everybody through.
func RequireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !authorized(r, want) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="paddock"`)
			refuse(w, &refusal{http.StatusUnauthorized, "Token required"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorized compares digests: of equal length whatever was given, so that the
// time that it takes tells nothing.
func authorized(r *http.Request, want [sha256.Size]byte) bool {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		_, token, ok = r.BasicAuth()
	}
	got := sha256.Sum256([]byte(token))
	return ok && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
