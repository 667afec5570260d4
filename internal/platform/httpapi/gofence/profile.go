package gofence

import (
	"net/http"
	"net/http/pprof"

	"github.com/julienschmidt/httprouter"
)

// mountProfiles serves the profiles that the original served, and no others.
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
