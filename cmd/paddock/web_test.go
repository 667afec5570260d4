package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestWebProcess runs `paddock web` as its users do: a request of each way, and a
// SIGTERM, after which every request has its line.
func TestWebProcess(t *testing.T) {
	dir := t.TempDir()
	writeSet(t, dir, "index.html", "front")
	var lines bytes.Buffer
	p := startWeb(t, &lines, dir, "--log-format", "json")
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

func startWeb(t *testing.T, stdout io.Writer, args ...string) *fenceProcess {
	t.Helper()
	ctx, kill := context.WithTimeout(t.Context(), fenceTestTimeout)
	cmd := exec.CommandContext(ctx, "paddock", append([]string{"web", "--port", "0"}, args...)...)
	cmd.Stdout = stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &fenceProcess{Cmd: cmd, log: make(chan map[string]any, 1000)}
	go p.readLog(stderr)
	t.Cleanup(func() {
		kill()
		p.drainLog()
		_ = cmd.Wait() // an error if the test has waited
	})
	url, _ := p.waitFor(t, "listening")["url"].(string)
	p.addr = strings.TrimPrefix(url, "http://")
	p.waitFor(t, "ready")
	return p
}
