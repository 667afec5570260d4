package gofence

import (
	"net/http"

	"paddock/internal/access"
)

// RequireToken lets only those through that bring the token, see [access.Token].
// Others get 401 and learn nothing else, not even which paths exist. The
// original knows no authentication: an empty token lets everybody through.
func RequireToken(token string, next http.Handler) http.Handler {
	want := access.NewToken(token)
	if !want.Required() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !want.Allows(r) {
			w.Header()["Www-Authenticate"] = access.Challenge
			refuse(w, &refusal{http.StatusUnauthorized, "Token required"})
			return
		}
		next.ServeHTTP(w, r)
	})
}
