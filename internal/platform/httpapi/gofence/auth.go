package gofence

import (
	"net/http"

	"paddock/internal/process/access"
)

// RequireToken lets only those through that bring the token, see [access.Guard].
// Others get 401 and learn nothing else, not even which paths exist. The
// original knows no authentication: an empty token lets everybody through.
func RequireToken(guard *access.Guard, next http.Handler) http.Handler {
	if !guard.Required() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
