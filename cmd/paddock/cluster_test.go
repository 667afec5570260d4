package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of a cluster take the file of up, with all of its sections. Without servers, and
// from a platform on its own, they say what is missing.
func TestClusterCommands(t *testing.T) {
	t.Parallel()
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := unused.Addr().String()
	_ = unused.Close() // nothing listens there any more
	dir := t.TempDir()
	file := filepath.Join(dir, "paddock.yaml")
	if err := os.WriteFile(file, []byte("cluster: {url: 'nats://"+address+"'}\nwebhooks: {allow: [127.0.0.1]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := upKeeping(t, filepath.Join(dir, "data"))
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"cluster", "init", "-c", file, "--timeout", "100ms"}, exitFailure, "no server of nats://" + address + " answers"},
		{[]string{"cluster", "status", "-c", file, "--timeout", "100ms"}, exitFailure, "no server of nats://" + address + " answers"},
		{[]string{"cluster", "init"}, exitUsage, "no servers: set --bus URL"},
		{[]string{"cluster", "init", "--bus", "nats://" + address, "--replicas", "2"}, exitUsage, "--replicas 2: 1, 3 or 5"},
		{[]string{"cluster", "status", "--server", strings.TrimSuffix(p.url, "/")}, exitFailure, "there is no cluster here"},
	} {
		cmd := program(t, c.args...)
		cmd.Env = append(os.Environ(), "PADDOCK_DATA_DIR=")
		out, _ := cmd.CombinedOutput() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.text) {
			t.Errorf("%v: exit code %d: %s", c.args, code, out)
		}
	}
	p.terminate(t)
}
