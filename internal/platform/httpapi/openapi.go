package httpapi

import (
	_ "embed"
	"net/http"
)

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
