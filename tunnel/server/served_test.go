package server

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"paddock/tunnel"
)

// The hook is called once for each request that was served, however it traveled.
func TestServedIsTold(t *testing.T) {
	var mu sync.Mutex
	var told []Served
	p := newPair(t, &Server{Hooks: Hooks{Served: func(v Served) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, v)
	}}})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/long":
			_, _ = w.Write(make([]byte, 100_000))
		default:
			_, _ = io.CopyN(w, strings.NewReader(strings.Repeat("x", int(n)+3)), n+3)
		}
	}))
	chunked := func() io.Reader { return io.MultiReader(strings.NewReader("abcde")) }
	for _, c := range []struct {
		method, target string
		body           io.Reader
		path           string
		status         int
		received, sent int64
	}{
		{http.MethodGet, "/small?token=secret", nil, "/small", 200, 0, 3},
		{http.MethodPost, "/small", strings.NewReader("body"), "/small", 200, 4, 7},
		{http.MethodPost, "/stream", chunked(), "/stream", 200, 5, 8},
		{http.MethodPut, "/stream", strings.NewReader(strings.Repeat("u", 70_000)), "/stream", 200, 70_000, 70_003},
		{http.MethodGet, "/long", nil, "/long", 200, 0, 100_000},
		{http.MethodHead, "/long", nil, "/long", 200, 0, 0},
		{http.MethodGet, "/none", nil, "/none", 204, 0, 0},
	} {
		r := p.Request(c.method, "example.com", c.target, c.body)
		r.Header.Set("X-Request-Id", "id-7")
		res, _ := p.Do(r)
		p.Eventually("untold", func() bool { mu.Lock(); defer mu.Unlock(); return len(told) > 0 })
		mu.Lock()
		got := told
		told = nil
		mu.Unlock()
		v := got[0]
		if v.Peer == "" || v.Identity == "" || v.Took <= 0 {
			t.Errorf("%s %s: %+v", c.method, c.target, v)
		}
		v.Peer, v.Identity, v.Took = "", "", 0
		want := Served{
			Protocol: tunnel.HTTP, Tunnel: "example.com", Host: "example.com", Method: c.method, Path: c.path, RequestID: "id-7",
			Status: c.status, Received: c.received, Sent: c.sent,
		}
		if len(got) != 1 || v != want || res.StatusCode != c.status {
			t.Errorf("%s %s: %d times\n got %+v\nwant %+v", c.method, c.target, len(got), v, want)
		}
	}
	if res, _ := p.Get("nobody.example.com", "/"); res.StatusCode != 404 {
		t.Error(res.StatusCode)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 0 {
		t.Errorf("refused, and told as served: %+v", told)
	}
}
