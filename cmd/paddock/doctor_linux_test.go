package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDoctorFindsAnUnreachablePort runs a platform in a network of its own, as in a container, of
// which only the port of HTTP is passed on.
func TestDoctorFindsAnUnreachablePort(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a network of its own takes root")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close() // nothing of this network listens there any more
	dir := t.TempDir()
	socket := filepath.Join(dir, "http")
	cmd := daemon(t, "up", "--data", "off", "--listen", "unix:"+socket, "--bus-listen", strings.Replace(free.Addr().String(), "127.0.0.1", "0.0.0.0", 1), "--wire-listen", "unix:"+filepath.Join(dir, "wire"))
	cmd.Env = append(os.Environ(), "PADDOCK_BUS_TOKEN=secret")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if cmd.Start() != nil {
		t.Skip("there is no network of its own here")
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for _, err := os.Stat(socket); err != nil; _, err = os.Stat(socket) {
		if t.Context().Err() != nil || cmd.ProcessState != nil {
			t.Fatal(err)
		}
	}
	published, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()
	go func() { // passes each connection on to the socket; ends with the listener
		for {
			from, err := published.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", socket)
			if err != nil {
				from.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, from); to.Close() }()
			go func() { _, _ = io.Copy(from, to); from.Close() }()
		}
	}()
	var stdout, stderr string
	code := 1
	for stderr = "404"; strings.Contains(stderr, "503") || strings.Contains(stderr, "404"); { // while it starts
		code, stdout, stderr = outcomeOf(t, "doctor", "http://"+published.Addr().String(), "--only", "bus-port,wire-port")
	}
	for _, want := range []string{"problem  bus-port", "cannot be reached", "firewall", "skipped  wire-port", "a socket of its machine"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%d: no %q in\n%s%s", code, want, stdout, stderr)
		}
	}
	if code != 1 {
		t.Errorf("code %d: %s", code, stderr)
	}
}
