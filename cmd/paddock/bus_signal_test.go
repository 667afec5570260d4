//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// testServer is a process of ours as tools start theirs: by a link of the other
// name, its log in a file, here a pipe that the test reads.
type testServer struct {
	t    *testing.T
	dir  string
	link string
	cmd  *exec.Cmd
	log  *bufio.Scanner
	seen []string
}

func startTestServer(t *testing.T, args ...string) *testServer {
	t.Helper()
	program, err := exec.LookPath("paddock")
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{t: t, dir: t.TempDir()}
	s.link = filepath.Join(s.dir, otherName)
	if err := os.Symlink(program, s.link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(s.dir, "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that neither side waits for the other
	if err != nil {
		t.Fatal(err)
	}
	s.log = bufio.NewScanner(log)
	t.Cleanup(func() { _ = log.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), busTestTimeout)
	t.Cleanup(cancel)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", s.dir)
	}
	s.cmd = exec.CommandContext(ctx, s.link, append([]string{"-a", "127.0.0.1", "-p", "-1", "-l", pipe, "-P", filepath.Join(s.dir, "pid")}, args...)...)
	startOf(t, s.cmd)
	return s
}

// await waits for a text in the log, and returns the rest of its line.
func (s *testServer) await(text string) string {
	s.t.Helper()
	for s.log.Scan() {
		s.seen = append(s.seen, s.log.Text())
		if _, after, ok := strings.Cut(s.log.Text(), text); ok {
			return after
		}
	}
	s.t.Fatalf("no %q in the log: %v", text, s.seen)
	return ""
}

// signal is another process that sends one.
func (s *testServer) signal(order string) {
	s.t.Helper()
	if out, err := exec.Command(s.link, "--signal", order+"="+filepath.Join(s.dir, "pid")).CombinedOutput(); err != nil {
		s.t.Fatalf("--signal %s: %v, %s", order, err, out)
	}
}

func TestBusByTheOtherName(t *testing.T) {
	t.Parallel()
	s := startTestServer(t, "-m", "-1", "--ports_file_dir=DIR", "--store_dir", "DIR", "-js", "-D", "-logtime_utc",
		"-cluster_name", "c", "--user", "ann", "--pass", "sesame")
	monitor := s.await("Starting http monitor on ")
	addr := s.await("Listening for client connections on ")
	s.await("Server is ready")
	nc, err := nats.Connect(addr, nats.UserInfo("ann", "sesame"), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if res, err := http.Get("http://" + monitor + "/varz"); err != nil {
		t.Error(err)
	} else if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), `"connections": 1`) {
		t.Errorf("/varz: %s, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()
	ports, err := os.ReadFile(filepath.Join(s.dir, otherName+"_"+strconv.Itoa(s.cmd.Process.Pid)+".ports"))
	if want := `{"nats":["nats://` + addr + `"],"monitoring":["http://` + monitor + `"]}`; string(ports) != want {
		t.Errorf("ports file %s, %v; want %s", ports, err, want)
	}
	if line, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/cmdline"); err == nil && strings.Contains(string(line), "sesame") {
		t.Errorf("others see the password: %q", line)
	}
	s.signal("reopen")
	s.await("File log re-opened")
	s.signal("reload")
	s.await("Failed to reload server configuration: no configuration file was given")
	s.signal("quit")
	s.await("Server Exiting..")
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after SIGINT: %v", err)
	}
	if text := strings.Join(s.seen, "\n"); strings.Contains(text, "sesame") || strings.Contains(text, "\x1b") {
		t.Errorf("a password or a colour is in the log:\n%s", text)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "*p*")); err != nil || len(left) != 0 {
		t.Errorf("pid and ports file are still there: %v, %v", left, err)
	}
}

func TestBusLameDuckBySignal(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "bus.conf")
	if err := os.WriteFile(config, []byte(`lame_duck_duration: "300ms", lame_duck_grace_period: "100ms"`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startTestServer(t, "-c", config)
	addr := s.await("Listening for client connections on ")
	s.await("Server is ready")
	told, closed := make(chan struct{}), make(chan struct{})
	nc, err := nats.Connect(addr, nats.NoReconnect(),
		nats.LameDuckModeHandler(func(*nats.Conn) { close(told) }), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s.signal("ldm")
	s.await("Entering lame duck mode, stop accepting new clients")
	<-told
	<-closed
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("after lame duck mode: %v", err)
	}
}
