package http1_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/http1"
)

// Requests of the same method and URL are for one target, and only so many have names.
func TestTargetNames(t *testing.T) {
	var list []http1.Request
	for i := range 100 {
		list = append(list, http1.Request{URL: fmt.Sprintf("http://host/%d", i%70)})
	}
	list = append(list, http1.Request{URL: "http://host/3", Body: []byte("{}")}, http1.Request{URL: "http://host/3", Method: "GET"})
	names, of := http1.TargetNames(list)
	if len(names) != 65 || names[3] != "GET http://host/3" || names[64] != "others" {
		t.Errorf("%d names: %q", len(names), names)
	}
	if of[3] != 3 || of[73] != 3 || of[63] != 63 || of[64] != 64 || of[69] != 64 || of[100] != 64 || of[101] != 3 {
		t.Errorf("%d", of)
	}
}

// Each target has the answers, errors and times of its own requests, with both engines and any
// number of threads, whether or not the requests have placeholders. What belongs to the warm-up is
// in none of them.
func TestTargets(t *testing.T) {
	never := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/never":
			<-never
		case "/fail":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, "hello")
	}))
	defer s.Close()
	defer close(never)
	for _, more := range []string{"", "?{{seq}}"} {
		engines(t, func(t *testing.T, e load.Engine) {
			list := []http1.Request{{URL: s.URL + "/" + more}, {URL: s.URL + "/fail"}, {URL: s.URL + "/"}, {URL: s.URL + "/never"}}
			requests, err := http1.Compile(list, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			names, of := http1.TargetNames(list)
			r, err := load.Run(t.Context(), load.Plan{
				Address: s.Listener.Addr().String(), Codec: &http1.Codec{Requests: requests}, Targets: names,
				Conns: 4, Threads: 2, Count: 40, Engine: e, Timeout: 200 * time.Millisecond,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, errors := make([]int64, len(names)), make([]int64, len(names))
			for i, k := range of {
				want[k] += 10
				if i%2 == 1 {
					errors[k] += 10
				}
			}
			want[of[3]] = 0 // they have no answer
			for i, got := range r.Targets {
				times := got.Response
				if got.Name != names[i] || got.Done != want[i] || got.Errors != errors[i] || int64(times.Count()) != max(want[i], errors[i]) {
					t.Errorf("%s: %d answers, %d errors, %d times", got.Name, got.Done, got.Errors, times.Count())
				}
				if i == int(of[3]) && times.Min() < 200*time.Millisecond {
					t.Errorf("a request without an answer took %v", times.Min())
				}
			}
			if n := len(r.Targets); n != len(names) || !slices.Contains(names, "GET "+s.URL+"/fail") {
				t.Errorf("%d targets of %q", n, names)
			}
		})
	}
	list := []http1.Request{{URL: s.URL + "/"}}
	requests, _ := http1.Compile(list, nil, 1)
	names, _ := http1.TargetNames(list)
	r, err := load.Run(t.Context(), load.Plan{
		Address: s.Listener.Addr().String(), Codec: &http1.Codec{Requests: requests}, Targets: names,
		Warmup: 100 * time.Millisecond, Duration: 100 * time.Millisecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Targets[0]; got.Done != r.Total.Done || got.Errors != r.Total.Errors() || !got.Response.Equal(r.Total.Response) {
		t.Errorf("%d answers of %d", got.Done, r.Total.Done)
	}
}
