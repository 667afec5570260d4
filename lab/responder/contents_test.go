package responder_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"paddock/lab/responder"
)

// A request gets the content that it names, whatever the sizes of those before it: small
// answers go out together, large ones part by part, all in order.
func TestContents(t *testing.T) {
	contents := make([]responder.Content, 5)
	for i, size := range []int{1, 3 << 20, 0, 20_000, 100} {
		contents[i] = responder.Content{Type: fmt.Sprintf("test/%d", i), Body: bytes.Repeat([]byte{'a' + byte(i)}, size)}
	}
	s, stop := serve(t, responder.Config{Contents: contents})
	order := []int{0, 1, 2, 4, 1, 3, 3, 0, 7, 2} // round: 7 is 2
	var requests strings.Builder
	for _, n := range order {
		fmt.Fprintf(&requests, "GET /some/%d HTTP/1.1\r\nHost: x\r\n\r\n", n)
	}
	requests.WriteString("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	a := ask(t, s, requests.String())
	for _, n := range append(order, 0) {
		r, err := http.ReadResponse(a.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		want := contents[n%len(contents)]
		if err != nil || !bytes.Equal(body, want.Body) || r.Header.Get("Content-Type") != want.Type {
			t.Fatalf("/%d: %d bytes of %s, want %d of %s; %v", n, len(body), r.Header.Get("Content-Type"), len(want.Body), want.Type, err)
		}
	}
	if rest, err := io.ReadAll(a.in); err != nil || len(rest) > 0 {
		t.Errorf("%d bytes behind the last answer, %v", len(rest), err)
	}
	if did := stop(); did.Answers != int64(len(order))+1 {
		t.Errorf("%d answers", did.Answers)
	}
	if _, err := responder.Serve(responder.Config{Contents: contents, Size: 200}); err == nil {
		t.Error("a size and contents")
	}
}
