package gofence_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/lab/internal/gofence"
)

// An answer other than 200 ends the run, at once or later.
func TestProfileRunFails(t *testing.T) {
	for name, c := range map[string]struct {
		good    int64 // answers before
		handler http.HandlerFunc
		want    string
	}{
		"refused":           {0, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such set", 400) }, `answer 400: "no such set\n"`},
		"refused later":     {99, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such set", 400) }, "answer 400, of the class status"},
		"connection closed": {0, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"closed later":      {99, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "answer 0, of the class closed"},
	} {
		t.Run(name, func(t *testing.T) {
			var posts atomic.Int64
			mux := http.NewServeMux()
			mux.HandleFunc("POST /set", func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); string(body) != "a" && string(body) != "b" {
					t.Errorf("posted %q", body)
				}
				if posts.Add(1) > c.good {
					c.handler(w, r)
				}
			})
			mux.HandleFunc("GET /debug/pprof/profile", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
			server := httptest.NewServer(mux)
			defer server.Close()
			run := gofence.ProfileRun{URL: server.URL + "/set", Bodies: [][]byte{[]byte("a"), []byte("b")}, Conns: 2, Duration: time.Second}
			if _, _, err := run.Take(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The token goes with the posted requests and with that for the profile.
func TestProfileRunWithToken(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /set", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	run := gofence.ProfileRun{URL: server.URL + "/set", Token: "sesame", Bodies: [][]byte{[]byte("a")}, Conns: 2, Duration: time.Second, Buckets: gofence.FenceBuckets()}
	shares, requests, err := run.Take(t.Context())
	if err != nil || requests == 0 || shares.Samples == 0 || run.Profile == nil {
		t.Errorf("%d requests, %d samples, %v", requests, shares.Samples, err)
	}
	run.Token = ""
	if _, _, err := run.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "answer 401") {
		t.Errorf("without a token: %v", err)
	}
}
