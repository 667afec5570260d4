package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestWebProcess runs `paddock web` as its users do: a request of each way, and a
// SIGTERM, after which every request has its line.
func TestWebProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeSet(t, dir, "index.html", "front")
	var lines bytes.Buffer
	cmd := daemon(t, "web", "--port", "0", dir, "--log-format", "json")
	cmd.Stdout = &lines
	p := startServing(t, cmd)
	for _, tc := range []struct {
		path string
		want int
	}{{"/", http.StatusOK}, {"/none", http.StatusNotFound}, {"/../web_test.go", http.StatusNotFound}} {
		r, err := http.Get("http://" + p.addr + tc.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != tc.want || tc.want == http.StatusOK && string(body) != "front" {
			t.Errorf("%s: %s %q", tc.path, r.Status, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	p.signal(t, syscall.SIGTERM)
	served := p.waitFor(t, "served")
	p.drainLog()
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if served["requests"] != 3.0 || served["short"] != 1.0 {
		t.Errorf("it has served %v", served)
	}
	if n := strings.Count(lines.String(), `"method":"GET"`); n != 3 || !strings.Contains(lines.String(), `"target":"/","proto":"HTTP/1.1","status":200,"bytes":5`) {
		t.Errorf("%d requests are logged: %s", n, &lines)
	}
}
