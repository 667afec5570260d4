package httpapi

import (
	_ "embed"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"paddock/internal/platform/doctor"
	"paddock/internal/process/keyring"
)

const (
	defaultTunnels = 100
	// maxTunnels bounds each kind, which keeps an answer below 2 MB with 32 names of 253 bytes a
	// client.
	maxTunnels = 200
	// maxFind is longer than any name.
	maxFind = 256
)

// getTunnel answers with the state of the tunnel's server.
func (a *API) getTunnel(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "find", "limit")
	if err != nil {
		return err
	}
	most := defaultTunnels
	if s := q.Get("limit"); s != "" {
		if most, err = count("limit", s, maxTunnels); err != nil {
			return err
		}
	}
	find := q.Get("find")
	switch {
	case len(find) > maxFind:
		return fail(http.StatusBadRequest, "query: find has more than %d bytes", maxFind)
	case a.cfg.Tunnel == nil:
		return fail(http.StatusNotFound, "there is no tunnel here: the file that paddock up was given has no section tunnel")
	}
	return writeJSON(w, http.StatusOK, a.cfg.Tunnel(find, most))
}

// getDoctor answers with what the platform finds about itself.
func (a *API) getDoctor(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "only")
	if err != nil {
		return err
	}
	if a.cfg.Doctor == nil {
		return fail(http.StatusNotFound, "there is no examination here")
	}
	f := a.cfg.Doctor()
	if f == nil {
		return fail(http.StatusServiceUnavailable, "the platform starts")
	}
	var only []string
	if s := q.Get("only"); s != "" {
		only = strings.Split(s, ",")
	}
	summary := slices.Equal(only, []string{"summary"})
	if !summary {
		if err := doctor.Unknown(only, doctor.Names(f.Checks())); err != nil {
			return fail(http.StatusBadRequest, "query: only: %v, and summary, which is alone", err)
		}
	}
	report, err := f.Examine(r.Context(), only, summary)
	if err != nil {
		return fail(http.StatusServiceUnavailable, "other examinations are under way: %v", err)
	}
	return writeJSON(w, http.StatusOK, report)
}

// openAPI describes /v1: OpenAPI 3.1. A test checks real answers against it.
//
//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(openAPI)
	return nil
}

// ready is the status without an obstacle.
const ready = "ok"

// health is an answer of /healthz or /readyz.
type health struct {
	Status string   `json:"status"`          // ok, or the obstacle
	Files  []string `json:"files,omitempty"` // of sets, that could not be read since the start
}

var getHealth = handler(func(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, health{Status: "ok"})
})

// getReady reports whether the service accepts work and has all its sets. A file that fails after
// the start does not change that: its previous contents are served.
func (a *API) getReady(w http.ResponseWriter, _ *http.Request) error {
	h := a.readiness()
	if h.Status != ready {
		return writeJSON(w, http.StatusServiceUnavailable, h)
	}
	return writeJSON(w, http.StatusOK, h)
}

func (a *API) readiness() health {
	if a.isDraining() {
		return health{Status: "draining"}
	}
	if reason := a.cfg.Pipeline.Refusing(); reason != "" {
		return health{Status: reason}
	}
	if missing := a.files().Missing(); len(missing) > 0 {
		return health{Status: "sets missing", Files: missing}
	}
	return health{Status: ready}
}

// Obstacle returns why /readyz answers 503, or "".
func (a *API) Obstacle() string {
	h := a.readiness()
	if h.Status == ready {
		return ""
	}
	return strings.Join(append([]string{h.Status}, h.Files...), " ")
}

// profile adds the profiles of net/http/pprof.
func profile(mux *http.ServeMux) {
	for name, h := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.Handle("/debug/pprof/"+name, permit(keyring.Admin, plainly(h)))
	}
}
