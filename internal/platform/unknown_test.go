package platform_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"paddock/internal/platform/httpapi"
	"paddock/internal/process/config"
)

// A request for which there is no endpoint and no page is an error: a phone that received a page
// for its positions would delete them.
func TestUnknownRequestsFail(t *testing.T) {
	r := start(t, config.Default(), nil)
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"GET", "?id=7&lat=52.52&timestamp=1773314205", http.StatusBadRequest, "POST /v1/positions"},
		{"POST", "?id=7&lat=52.52", http.StatusMethodNotAllowed, "POST /v1/positions"},
		{"GET", "index.html?deviceid=7", http.StatusBadRequest, "POST /v1/positions"},
		{"GET", "?at=1,2,3&ID=7", http.StatusBadRequest, "POST /v1/positions"},
		{"GET", "tunnel?id=7", http.StatusBadRequest, `"id"`},
		{"POST", "", http.StatusMethodNotAllowed, "POST /v1/positions"},
		{"POST", "positions", http.StatusNotFound, "POST /v1/positions"},
		{"GET", "varz", http.StatusNotFound, "/varz"},
		{"GET", "bus/connz", http.StatusNotFound, "/bus/connz"},
		{"GET", "bench?x=1", http.StatusNotFound, "/bench"},
		{"GET", "debug/pprof/", http.StatusNotFound, "/debug/pprof/"},
		{"GET", "some/view?fence=a/b", http.StatusNotFound, "/some/view"},
		{"GET", "tunnel/", http.StatusNotFound, "/tunnel/"},
		{"GET", "favicon.png", http.StatusNotFound, "/favicon.png"},
		{"PUT", "v1/positionen", http.StatusNotFound, "/v1/positionen"},
		{"POST", "healthz", http.StatusMethodNotAllowed, "GET"},
		{"POST", "metrics", http.StatusMethodNotAllowed, "GET"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, r.URL()+c.path, bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var p httpapi.Problem
		if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
			t.Errorf("%s /%s: %s: %v", c.method, c.path, res.Status, err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status || p.Status != c.status || !strings.Contains(p.Detail, c.says) ||
			res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s /%s: %s, %s, %+v; want %d, and %q", c.method, c.path, res.Status, res.Header.Get("Content-Type"), p, c.status, c.says)
		}
	}
	// The URLs that the pages write themselves.
	for _, path := range []string{
		"", "index.html", "?", "?at=1,2,3&fence=a/b&set=x&event=enter,exit&q=100%25&hide=y", "?object=f/v42", "?record=s/v42%2F1",
		"tunnel", "tunnel?find=DEPOT", "?rule=a", "sets", "rules?rule=a", "webhooks?id=a", "keys", "devices", "bus", "wire",
	} {
		if status, body, err := r.call("GET", path, "", nil); err != nil || status != http.StatusOK || !bytes.Contains(body, []byte("<")) {
			t.Errorf("/%s: %d, %v, %.100q", path, status, err, body)
		}
	}
}
