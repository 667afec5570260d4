package gofence_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"paddock/lab/internal/gofence"
)

// The requests go out in turn, each once before the first comes again, whole.
func TestClosedLoop(t *testing.T) {
	const enough = 50
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen [3]atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Method == http.MethodPost && r.URL.String() == "/a?b=c" && string(body) == "one":
			seen[0].Add(1)
		case r.Method == http.MethodPost && string(body) == "":
			seen[1].Add(1)
		case r.Method == http.MethodGet && r.URL.Path == "/get":
			if seen[2].Add(1) == enough {
				cancel()
			}
		default:
			w.WriteHeader(http.StatusTeapot)
		}
		io.WriteString(w, "answer")
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	load := &gofence.ClosedLoop{Addr: addr, Conns: 4, Requests: [][]byte{
		gofence.Post(addr, "/a?b=c", []byte("one")), gofence.Post(addr, "/", nil), gofence.Get(addr, "/get"),
	}}
	if err := load.Run(ctx); err != nil {
		t.Fatal(err)
	}
	most, least := int64(0), int64(1<<62)
	for i := range seen {
		most, least = max(most, seen[i].Load()), min(least, seen[i].Load())
	}
	if least < enough-4 || most-least > 4 {
		t.Errorf("%d to %d of each request were seen", least, most)
	}
	if done := load.Done(); done < 3*(enough-4) {
		t.Errorf("%d are done", done)
	}
}

func TestOtherAnswersEndTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"refused":           {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such set", 400) }, `answer 400: "no such set\n"`},
		"without a length":  {func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, "without Content-Length"},
		"connection closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			addr := server.Listener.Addr().String()
			load := &gofence.ClosedLoop{Addr: addr, Conns: 2, Requests: [][]byte{gofence.Get(addr, "/")}}
			if err := load.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
