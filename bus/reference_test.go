package bus_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReference plays the same histories against a real nats-server, so that they expect the
// behaviour that clients know. It runs when PADDOCK_REFERENCE names that program.
func TestReference(t *testing.T) {
	program := os.Getenv("PADDOCK_REFERENCE")
	if program == "" {
		t.Skip("PADDOCK_REFERENCE does not name a nats-server to compare with")
	}
	for _, h := range readHistories(t) {
		t.Run(h.name, func(t *testing.T) {
			if h.differs != "" {
				t.Skip(h.differs)
			}
			addr := startReference(t, program, &h)
			r := runner{t: t, send: sendWhole, dial: func() (net.Conn, error) { return net.Dial("tcp", addr) }}
			r.play(h)
		})
	}
}

func startReference(t *testing.T, program string, h *history) (addr string) {
	t.Helper()
	config := h.config
	var text strings.Builder
	fmt.Fprintln(&text, "listen: \"127.0.0.1:-1\"")
	if config["token"] != "" {
		fmt.Fprintf(&text, "authorization { token: %q }\n", config["token"])
	}
	if config["user"] != "" {
		fmt.Fprintf(&text, "authorization { user: %q, password: %q }\n", config["user"], config["password"])
	}
	if h.users != "" {
		fmt.Fprintf(&text, "authorization { users: %s }\n", h.users)
	}
	for key, value := range config {
		if strings.HasPrefix(key, "max_") || key == "no_auth_user" {
			fmt.Fprintf(&text, "%s: %s\n", key, value)
		}
	}
	file := filepath.Join(t.TempDir(), "reference.conf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-c", file)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "Listening for client connections on "); ok {
			addr = after
		}
		if strings.Contains(lines.Text(), "Server is ready") {
			return addr
		}
	}
	t.Fatalf("%s did not start with\n%s", program, &text)
	return ""
}
