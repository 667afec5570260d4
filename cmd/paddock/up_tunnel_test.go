package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock/internal/agent"
)

// tunnelSite is an agentSite whose platform takes visitors, for services of the agent.
type tunnelSite struct {
	agentSite
	visitors string // host:port
}

// write writes a file of the site.
func (s *tunnelSite) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// list has the platform's file say which clients there are.
func (s *tunnelSite) list(clients string) {
	s.t.Helper()
	s.write("paddock.yaml", fmt.Sprintf(
		"http: {listen: \"127.0.0.1:0\"}\nbus: {listen: \"127.0.0.1:0\"}\nwire: {listen: %q}\ntunnel:\n  serve: {http: \"127.0.0.1:0\", control: off}\n  clients: [%s]\n",
		s.wire, clients))
}

func (s *tunnelSite) startPlatform() {
	s.t.Helper()
	s.platform = startUp(s.t, "up", "-c", filepath.Join(s.dir, "paddock.yaml"))
	s.wire = s.platform.wire
	line, err := s.platform.stdout.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "Visitors:  http://")
	if !ok {
		s.t.Fatalf("%q, %v", line, err)
	}
	s.visitors = address
}

// visit asks for a host as a visitor.
func (s *tunnelSite) visit(host string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+s.visitors+"/path", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Host, req.Close = host, true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// visitUntil visits until that is answered with code.
func (s *tunnelSite) visitUntil(host string, code int) (text string) {
	s.t.Helper()
	until(s.ctx, s.t, "a visit of "+host, func() error {
		status := 0
		if status, text = s.visit(host); status != code {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	return text
}

// agentStatus is the agent's own report.
func (s *tunnelSite) agentStatus() (status agent.Status) {
	s.t.Helper()
	_, text := s.do(http.MethodGet, s.edge+"/status", "")
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return status
}

// metric is the line of a platform's metric.
func (s *tunnelSite) metric(line string) {
	s.t.Helper()
	if _, text := s.do(http.MethodGet, s.platform.url+"metrics", ""); !strings.Contains(text, "\n"+line+"\n") {
		s.t.Errorf("no line %q in\n%s", line, text)
	}
}

// A service of the agent is reachable through the platform, over the connection that carries
// positions. Tunnels that the platform does not allow are not bound. After a restart of the
// platform the others are bound again. A client that is removed from the list is disconnected.
func TestUpBringsVisitorsToTheAgent(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Host, r.URL.Path)
	}))
	defer service.Close()
	s := &tunnelSite{agentSite: agentSite{t: t, ctx: t.Context(), dir: t.TempDir(), wire: "127.0.0.1:0"}}
	listed := fmt.Sprintf(`{name: depot, token_sha256: "%x", hosts: [door.example]}`, sha256.Sum256([]byte("a long secret")))
	s.list(listed)
	s.startPlatform()
	s.write("agent.token", "depot:a long secret\n")
	s.write("agent.yaml", fmt.Sprintf(`
connect: {server: %q, plaintext: true, token_file: agent.token}
backoff: {interval: 5ms, max_interval: 50ms}
buffer: {dir: buffer}
http: {listen: "127.0.0.1:0"}
tunnels:
  door:  {proto: http, addr: %q, host: door.example}
  other: {proto: http, addr: %q, host: other.example}
`, s.wire, service.URL, service.URL))
	s.startAgent()

	if text := s.visitUntil("door.example", http.StatusOK); text != "door.example /path" {
		t.Errorf("the service answers %q", text)
	}
	s.give(100)
	s.delivered(100)
	s.metric("paddock_wire_connections 1")
	s.metric(`paddock_tunnel_names 1`)
	if status := s.agentStatus(); status.Tunnels["door"].Where != "door.example" || !strings.Contains(status.Tunnels["other"].Reason, "other.example is not among the hosts") {
		t.Errorf("%+v", status.Tunnels)
	}
	if status, text := s.visit("other.example"); status != http.StatusNotFound {
		t.Errorf("what is not allowed: %d %s", status, text)
	}

	s.killPlatform()
	s.list(listed) // at the same address
	s.startPlatform()
	s.visitUntil("door.example", http.StatusOK)
	s.give(100)
	s.delivered(100)

	s.list("")
	if err := s.platform.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(s.ctx, t, "the agent is sent away", func() error {
		if status := s.agentStatus(); status.Link.Up || !strings.Contains(status.Link.Reason, "UNAUTHENTICATED") {
			return fmt.Errorf("%+v", status.Link)
		}
		return nil
	})
	s.platform.terminate(t)
}
