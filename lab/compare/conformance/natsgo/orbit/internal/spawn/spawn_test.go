package spawn

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program makes a server of a shell script; the file of the configuration is $2.
func program(t *testing.T, script string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, file)
}

func startOne(t *testing.T, c Config) (*Server, error) {
	t.Helper()
	dir, err := NewDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Remove() })
	servers, err := Start(dir, 1, c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := servers[0].Stop(); err != nil {
			t.Error(err)
		}
	})
	return servers[0], nil
}

const obedient = `
trap 'grep refuse "$2" >/dev/null && echo "Failed to reload server configuration: no" || echo "Reloaded server configuration"' HUP
trap 'exit 0' TERM
echo "Server is ready"
while :; do sleep 1 & wait; done
`

func TestServer(t *testing.T) {
	program(t, obedient)
	s, err := startOne(t, Config{Snippets: map[string]string{"top": "max_payload: 10"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err != nil {
		t.Errorf("reload: %v", err)
	}
	if err := s.Update(map[string]string{"top": "refuse: 10"}, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("reload of what is refused: %v", err)
	}
	port := s.Port
	if err := s.Stop(); err != nil || s.Running() {
		t.Errorf("stop: %v", err)
	}
	if err := s.Reload(); err == nil {
		t.Error("a stopped server was reloaded")
	}
	if err := s.Start(); err != nil || s.Port != port {
		t.Errorf("start again: %v, at port %d in place of %d", err, s.Port, port)
	}
}

func TestServerThatEnds(t *testing.T) {
	program(t, "echo 'it cannot be'; exit 1")
	if _, err := startOne(t, Config{}); err == nil || !strings.Contains(err.Error(), "it cannot be") {
		t.Errorf("got %v, want what it logged", err)
	}
}

func TestConfig(t *testing.T) {
	program(t, obedient)
	s, err := startOne(t, Config{
		TLS: &TLS{HandshakeFirst: true, Timeout: 0.5},
		Snippets: map[string]string{
			"top":       "max_connections: 3",
			"websocket": `websocket { port: {{.Ports.websocket}}, tls { cert_file: "{{.TLS.CertFile}}" } }`,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"max_connections: 3\nserver_name: \"" + s.Name, "handshake_first: true", "verify: false", "timeout: 0.5",
		"tls { cert_file: \"" + s.Certificates().CertFile,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if s.Ports["websocket"] == 0 || strings.Contains(string(text), "cluster") {
		t.Errorf("ports %v in\n%s", s.Ports, text)
	}
}

func TestConfigRefuses(t *testing.T) {
	program(t, obedient)
	if _, err := startOne(t, Config{Snippets: map[string]string{"top": "{{.Ports.nothing}}"}}); err == nil {
		t.Error("a snippet names a port that is not there, and is taken")
	}
}
