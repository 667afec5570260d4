package http1_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"paddock/load"
	"paddock/load/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engines runs f with each engine.
func engines(t *testing.T, f func(t *testing.T, e load.Engine)) {
	for name, e := range map[string]load.Engine{"epoll": load.Epoll, "portable": load.Portable} {
		t.Run(name, func(t *testing.T) { f(t, e) })
	}
}

// A run against net/http: every body is posted as often as its turn comes.
func TestRun(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		var seen [3]atomic.Int64
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := r.ContentLength - 1
			seen[n].Add(1)
			if n == 1 {
				w.WriteHeader(http.StatusTeapot)
			}
			if n == 2 {
				w.(http.Flusher).Flush() // which makes it chunked
			}
			_, _ = w.Write([]byte("hello"))
		}))
		defer service.Close()
		var arena http1.Arena
		if err := arena.AddBodies(http1.Request{URL: service.URL}, [][]byte{[]byte("a"), []byte("bb"), []byte("ccc")}); err != nil {
			t.Fatal(err)
		}
		address, _, err := http1.Endpoint(service.URL)
		if err != nil {
			t.Fatal(err)
		}
		r, err := load.Run(t.Context(), load.Plan{
			Address: address, Codec: &http1.Codec{Requests: &arena}, Conns: 3, Depth: 2, Threads: 2, Count: 300, PerConn: 7, Engine: e,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Total
		if v.Failed[load.ClassOK] != 200 || v.Failed[load.ClassStatus] != 100 || v.Errors() != 100 || v.Status[200] != 200 || v.Status[418] != 100 || v.BodyIn != 1500 {
			t.Errorf("%v, %v, %d bytes, %+v", v.Failed, v.Status, v.BodyIn, r.Samples)
		}
		for i := range seen {
			if n := seen[i].Load(); n != 100 {
				t.Errorf("body %d was posted %d times", i, n)
			}
		}
	})
}
