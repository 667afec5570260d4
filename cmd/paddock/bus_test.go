package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// busTestTimeout ends a test whose process hangs.
const busTestTimeout = 30 * time.Second

// TestBusProcess runs `paddock bus` as its users do: a client that must give a
// password, and a SIGTERM after which the client still receives the published messages.
func TestBusProcess(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "bus.pid")
	ctx, cancel := context.WithTimeout(t.Context(), busTestTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "paddock", "bus", "-p", "0", "-n", "depot", "--user", "ann", "--pid", pidFile, "--log-format", "text")
	cmd.Env = append(os.Environ(), "PADDOCK_BUS_PASS=secret")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	log := bufio.NewScanner(stderr)
	addr, ready := "", false
	for !ready && log.Scan() {
		t.Log(log.Text())
		if _, after, ok := strings.Cut(log.Text(), "Listening for client connections on "); ok {
			addr = strings.Trim(after, `"`)
		}
		ready = strings.Contains(log.Text(), "Server is ready")
	}
	if pid, err := os.ReadFile(pidFile); string(pid) != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("pid file %q, %v", pid, err)
	}

	if _, err := nats.Connect(addr, nats.UserInfo("ann", "wrong")); err == nil {
		t.Error("let in with a wrong password")
	}
	closed := make(chan struct{})
	nc, err := nats.Connect(addr, nats.UserInfo("ann", "secret"), nats.NoReconnect(),
		nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if name := nc.ConnectedServerName(); name != "depot" {
		t.Errorf("the server is called %q", name)
	}
	sub, err := nc.SubscribeSync("a.*")
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err := nc.Publish("a.b", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-closed
	if n, _, err := sub.Pending(); n != 1000 && err == nil {
		t.Errorf("%d of 1000 messages before the end", n)
	}
	for log.Scan() {
		if strings.Contains(log.Text(), "secret") {
			t.Error("the password is in the log")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if _, err := os.Stat(pidFile); !os.IsNotExist(err) {
		t.Errorf("the pid file is still there: %v", err)
	}
}
