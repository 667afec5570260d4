package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestDocsProcess runs `paddock docs` as its users do: a page, the search, and a SIGTERM.
func TestDocsProcess(t *testing.T) {
	t.Parallel()
	p := startServing(t, daemon(t, "docs", "--log-format", "json"))
	for path, want := range map[string]string{"/": "Paddock", "/guides/alerts.md": "PaddockDown", "/search?q=traceparent": "<mark>traceparent</mark>"} {
		r, err := http.Get("http://" + p.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s %v %.200s", path, r.Status, err, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	p.signal(t, syscall.SIGTERM)
	p.drainLog()
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
