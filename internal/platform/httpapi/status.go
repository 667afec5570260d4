package httpapi

import (
	_ "embed"
	"net/http"
	"strconv"
)

const (
	defaultTunnels = 100
	// maxTunnels of each kind keep an answer below 2 MB, with 32 names of 253 bytes a client.
	maxTunnels = 200
	// maxFind is longer than any name.
	maxFind = 256
)

// getTunnel tells what goes on at the tunnel's server.
func (a *API) getTunnel(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "find", "limit")
	if err != nil {
		return err
	}
	most := defaultTunnels
	if s := q.Get("limit"); s != "" {
		if most, err = strconv.Atoi(s); err != nil || most < 1 || most > maxTunnels {
			return fail(http.StatusBadRequest, "query: limit %.64q is not a number from 1 to %d", s, maxTunnels)
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

// openAPI describes /v1: OpenAPI 3.1. A test holds it against the real answers.
//
//go:embed openapi.json
var openAPI []byte

func getOpenAPI(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(openAPI)
	return nil
}
