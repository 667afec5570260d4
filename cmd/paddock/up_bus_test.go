package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// The section bus of the file has users as a file of `paddock bus`. SIGHUP has it read again, and a
// fault in it ends the start with its place.
func TestUpReadsTheUsersOfTheBus(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "paddock.yaml")
	write := func(users string) {
		t.Helper()
		text := "data: {dir: off}\nhttp: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\nbus:\n  listen: 127.0.0.1:0\n  authorization: {users: [" + users + "]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("{user: red, passs: r}")
	var exit *exec.ExitError
	if out, err := exec.CommandContext(t.Context(), "paddock", "up", "-c", file).CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() != exitUsage ||
		!strings.Contains(string(out), `paddock.yaml:6:39: unknown field "passs"`) {
		t.Errorf("%v: %s", err, out)
	}

	write("{user: red, password: r}")
	p := startUp(t, "up", "-c", file)
	gone := make(chan struct{})
	red, err := nats.Connect(p.bus, nats.UserInfo("red", "r"), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(gone) }))
	if err != nil {
		t.Fatal(err)
	}
	defer red.Close()
	write("{user: blue, password: b}")
	if err := p.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-gone
	blue, err := nats.Connect(p.bus, nats.UserInfo("blue", "b"), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	blue.Close()
	p.terminate(t)
}
