package gofence

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// RequireToken lets only those through that bring the token, as
// "Authorization: Bearer TOKEN". Others get 401 and learn nothing else, not
// even which paths exist. The original knows no authentication: an empty token
// lets everybody through.
func RequireToken(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Of equal length whatever was given, so that the comparison takes
		// the same time.
		got := sha256.Sum256([]byte(strings.TrimSpace(given)))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="paddock"`)
			refuse(w, &refusal{http.StatusUnauthorized, "Token required"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
