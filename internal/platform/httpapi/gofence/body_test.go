package gofence_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/internal/platform/httpapi/gofence"
)

// Large concurrent bodies are refused beyond the bound, small ones are not. After their end there
// is room again.
func TestLargeBodiesShareABound(t *testing.T) {
	const large = 96 << 10
	h := gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{MaxBodies: large * 3 / 2})
	post := func(route string, body io.Reader) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/fence/parks/"+route, body))
		return w.Code, w.Body.String()
	}
	blank := func() io.Reader { return strings.NewReader(strings.Repeat(" ", large)) }
	unknown := func() io.Reader { return io.MultiReader(blank()) } // of unknown length

	body, sender := io.Pipe()
	slow := make(chan int, 1)
	go func() { // ends with the body
		status, _ := post("search", body)
		slow <- status
	}()
	// The second write blocks until the first has been read.
	for _, part := range []string{strings.Repeat(" ", large), " "} {
		if _, err := io.WriteString(sender, part); err != nil {
			t.Fatal(err)
		}
	}
	for _, route := range []string{"search", "add"} {
		for name, body := range map[string]io.Reader{"announced": blank(), "chunked": unknown()} {
			if status, text := post(route, body); status != http.StatusServiceUnavailable || text != "Too many large bodies at once\n" {
				t.Errorf("%s, %s: %d %s", route, name, status, text)
			}
		}
		if status, text := post(route, strings.NewReader("{}")); status != http.StatusBadRequest {
			t.Errorf("a small %s: %d %s", route, status, text)
		}
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if status := <-slow; status != http.StatusBadRequest {
		t.Errorf("the first: %d", status)
	}
	for _, route := range []string{"search", "add"} {
		if status, text := post(route, unknown()); status != http.StatusBadRequest {
			t.Errorf("%s, when there is room again: %d %s", route, status, text)
		}
	}
}
