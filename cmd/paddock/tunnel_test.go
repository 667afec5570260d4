package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/internal/process/keyid"
)

// tunnelProcess is a paddock of the test's own.
type tunnelProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string  // of its standard output; closed at its end
	log   bytes.Buffer // standard error; to be read once it has ended
}

// startTunnel runs paddock tunnel with these arguments.
func startTunnel(ctx context.Context, t *testing.T, args ...string) *tunnelProcess {
	t.Helper()
	return startTunnelAs(t, exec.CommandContext(ctx, "paddock", append([]string{"tunnel"}, args...)...))
}

// startTunnelAs runs it by a command of another kind.
func startTunnelAs(t *testing.T, cmd *exec.Cmd) *tunnelProcess {
	t.Helper()
	p := &tunnelProcess{t: t, cmd: cmd, lines: make(chan string, 64)}
	p.cmd.Stderr = io.MultiWriter(t.Output(), &p.log)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(p.kill)
	return p
}

// kill is kill -9; it returns when the process is gone.
func (p *tunnelProcess) kill() {
	_ = p.cmd.Process.Kill() // an error if it is gone already
	p.wait()
}

// line waits for a line with this beginning, and returns the rest of it.
func (p *tunnelProcess) line(beginning string) string {
	p.t.Helper()
	for line := range p.lines {
		if rest, ok := strings.CutPrefix(line, beginning); ok {
			return strings.TrimSpace(rest)
		}
	}
	p.t.Fatalf("ended without a line %q", beginning)
	return ""
}

// wait returns the exit code.
func (p *tunnelProcess) wait() int {
	for range p.lines {
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

// stop asks it to end, and expects it to do so in peace.
func (p *tunnelProcess) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	if code := p.wait(); code != exitOK {
		p.t.Errorf("exit code %d", code)
	}
}

// shortPath is that of a unix socket: systems allow about 100 bytes.
func shortPath(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tun")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, name)
}

// Server, client and visitor are three processes. A visitor is served; names that the
// client may not have are refused; a client that is killed and started again takes its
// name back at once; operators list and kick; all end in peace.
func TestTunnelProcesses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s of %s", r.URL.Path, r.Header.Get("X-Forwarded-For"))
	}))
	defer target.Close()
	dir := t.TempDir()
	clientKey := filepath.Join(dir, "client.key")
	key, err := keyid.Make(clientKey)
	if err != nil {
		t.Fatal(err)
	}
	control := shortPath(t, "control")
	server := startTunnel(ctx, t, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--tls", "127.0.0.1:0",
		"--key", filepath.Join(dir, "server.key"), "--control", control, "--allow", key.ID.String()+"=app.example,*.b.example")
	id, link, front := server.line("id:"), server.line("clients:"), server.line("visitors:")
	serving := func(host string) []string {
		return []string{"http", target.Listener.Addr().String(), "--host", host, "--server", link, "--server-id", id, "--key", clientKey}
	}
	visit := func() string {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, front+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "app.example"
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Status + " " + string(b)
	}
	defer http.DefaultClient.CloseIdleConnections()

	client := startTunnel(ctx, t, serving("app.example")...)
	port := front[strings.LastIndexByte(front, ':'):]
	if got, want := client.line("http://app.example"), port+" -> "+target.Listener.Addr().String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := visit(); got != "200 OK /x of 127.0.0.1" {
		t.Error(got)
	}
	if err := client.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	client.wait()
	client = startTunnel(ctx, t, serving("app.example")...)
	client.line("http://app.example")
	if got := visit(); got != "200 OK /x of 127.0.0.1" {
		t.Error("after a client was killed:", got)
	}
	listed := startTunnel(ctx, t, "list", "--control", control)
	if got := listed.line(key.ID.String()[:12]); !strings.HasSuffix(got, "app.example") {
		t.Errorf("listed: %q", got)
	}
	if code := listed.wait(); code != exitOK {
		t.Errorf("list: exit code %d", code)
	}
	startTunnel(ctx, t, "kick", "--for", "0s", "--control", control, key.ID.String()[:12]).line(key.ID.String()[:12] + " was sent away")
	client.stop()

	if code := startTunnel(ctx, t, serving("other.example")...).wait(); code != exitRefused {
		t.Errorf("a name that is not allowed: exit code %d", code)
	}
	clientKey = filepath.Join(dir, "stranger.key")
	if code := startTunnel(ctx, t, serving("app.example")...).wait(); code != exitRefused {
		t.Errorf("a stranger: exit code %d", code)
	}
	id = key.ID.String()
	if code := startTunnel(ctx, t, serving("app.example")...).wait(); code != exitRefused {
		t.Errorf("another server than the one that is pinned: exit code %d", code)
	}
	server.stop()
}
