package gofence_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/internal/httpapi/gofence"
)

// Large bodies that come together are refused beyond the bound, small ones are
// not, and when they are over there is room again.
func TestLargeBodiesShareABound(t *testing.T) {
	const large = 96 << 10
	addr := serve(t, gofence.New(testCatalog(t, fence.DefaultKind), gofence.Options{MaxBodies: large * 3 / 2}))
	post := func(head, body string) (int, string) {
		conn := dial(t, addr)
		defer conn.Close()
		// The server may refuse it before all of it is sent.
		go func() { _, _ = io.WriteString(conn, "POST /fence/parks/"+head+" HTTP/1.1\r\nHost: x\r\n"+body) }() // ends with the connection
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	whole := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", large, strings.Repeat(" ", large))
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", large, strings.Repeat(" ", large))

	slow := dial(t, addr)
	if _, err := io.WriteString(slow, "POST /fence/parks/search HTTP/1.1\r\nHost: x\r\n"+whole[:len(whole)-1]); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(ioTimeout); ; { // until the server has read it
		status, text := post("search", whole)
		if status == http.StatusServiceUnavailable && text == "Too many large bodies at once\n" {
			break
		}
		if status != http.StatusBadRequest || time.Now().After(deadline) {
			t.Fatalf("%d %s", status, text)
		}
	}
	for _, route := range []string{"search", "add"} {
		if status, text := post(route, chunked); status != http.StatusServiceUnavailable {
			t.Errorf("%s in chunks: %d %s", route, status, text)
		}
		if status, text := post(route, "Content-Length: 2\r\n\r\n{}"); status != http.StatusBadRequest {
			t.Errorf("a small %s: %d %s", route, status, text)
		}
	}
	if _, err := io.WriteString(slow, " "); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("the first: %d", resp.StatusCode)
	}
	for deadline := time.Now().Add(ioTimeout); ; { // its answer is there before it has returned
		status, text := post("add", whole)
		if status == http.StatusBadRequest {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no room again: %d %s", status, text)
		}
	}
}
