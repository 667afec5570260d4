package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// notifySocket is the socket of a service manager.
type notifySocket struct {
	t    *testing.T
	conn *net.UnixConn
	env  []string // of the process
}

func newNotifySocket(t *testing.T) *notifySocket {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no service manager with sockets")
	}
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &notifySocket{t, conn, append(os.Environ(), "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=100000")}
}

// await reads messages up to one that begins with a line, and returns them without those of the
// watchdog, which come at any time.
func (s *notifySocket) await(first string) (read []string) {
	s.t.Helper()
	b := make([]byte, 4096)
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(processTimeout)); err != nil {
			s.t.Fatal(err)
		}
		n, err := s.conn.Read(b)
		if err != nil {
			s.t.Fatalf("no %s behind %q: %v", first, read, err)
		}
		message := string(b[:n])
		if first == "WATCHDOG=1" || !strings.HasPrefix(message, "WATCHDOG=1\n") {
			read = append(read, message)
		}
		if strings.HasPrefix(message+"\n", first+"\n") {
			return read
		}
	}
}

// Each long-running command tells the service manager of its start, its life, a reload and its end.
func TestServicesTellTheManager(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	up := write("paddock.yaml", "http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\n"+
		"tunnel: {serve: {http: '127.0.0.1:0', control: off}}\n")
	bus := write("bus.conf", "port: -1\n")
	agent := write("agent.yaml", "connect: {server: '127.0.0.1:1', plaintext: true}\nbuffer: {dir: spool}\nhttp: {listen: ''}\n")
	for _, c := range []struct {
		name, status string
		reloads      bool
		args         []string
	}{
		{"up", "STATUS=ready: 0 sets, 0 objects, 0 positions accepted", true, []string{"up", "-c", up, "--data", filepath.Join(dir, "data")}},
		{"up without a file", "STATUS=ready: ", true, []string{"up", "--data", "off", "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"}},
		{"bus", "STATUS=ready: 0 connections", true, []string{"bus", "-c", bus}},
		{"agent", "STATUS=keeping 0 positions: ", false, []string{"agent", "-c", agent}},
		{"tunnel", "STATUS=ready: 0 clients connected", true, []string{"tunnel", "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--key", filepath.Join(dir, "key"), "--control", "off"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newNotifySocket(t)
			cmd := daemon(t, c.args...)
			cmd.Env = s.env
			var log logText
			cmd.Stderr = &log
			startOf(t, cmd)
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the log:\n%s", &log)
				}
			})
			if got := s.await("READY=1"); !strings.Contains(got[len(got)-1], c.status) {
				t.Errorf("%q", got)
			}
			s.await("WATCHDOG=1")
			s.await("WATCHDOG=1")
			if c.reloads {
				if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				got := s.await("READY=1")
				if len(got) != 2 || !strings.HasPrefix(got[0], "RELOADING=1\n") || runtime.GOOS == "linux" && !strings.Contains(got[0], "\nMONOTONIC_USEC=") {
					t.Errorf("%q", got)
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if got := s.await("STOPPING=1"); len(got) != 1 {
				t.Errorf("%q", got)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A service that reads its file at the start alone goes on after SIGHUP, and says what is missing:
// the signal's default action would end it in a way that systemd takes for a good end.
func TestHangupWithoutAReload(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		args []string
	}{
		"agent":  {"connect: {server: '127.0.0.1:1', plaintext: true}\nbuffer: {dir: spool}\nhttp: {listen: ''}\n", []string{"agent", "-c"}},
		"tunnel": {"tunnel:\n  connect: {server: '127.0.0.1:1', key: client.key}\n  tunnels: {web: {proto: http, addr: 8080, host: app.example}}\n", []string{"tunnel", "start", "-c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "settings.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := daemon(t, append(c.args, file)...)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			startOf(t, cmd)
			p := &httpProcess{Cmd: cmd, log: make(chan map[string]any, 1000)}
			go p.readLog(stderr)
			p.waitFor(t, "ready")
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			p.waitFor(t, "SIGHUP: nothing is read again: other settings take a restart")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			p.drainLog()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A platform whose sets could not all be read is not ready, for the manager as for /readyz and
// paddock ready, and is once the file is right.
func TestReadiness(t *testing.T) {
	t.Parallel()
	s := newNotifySocket(t)
	sets := t.TempDir()
	at := filepath.Join(sets, "docks.json")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(sets, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("docks.json", "{")
	write("good.json", `{"type":"FeatureCollection","features":[`+upSquare+`]}`)
	cmd := daemon(t, "up", "--data", "off", "--sets", sets, "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0")
	cmd.Env = s.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimPrefix(strings.TrimSpace(line), "Dashboard: ")
	if got := s.await("STATUS=not ready: sets missing docks.json"); slices.ContainsFunc(got, func(m string) bool { return strings.HasPrefix(m, "READY=1") }) {
		t.Errorf("%q", got)
	}
	if code, _, stderr := outcomeOf(t, "ready", url); code != exitFailure || !strings.Contains(stderr, "503") || !strings.Contains(stderr, "docks.json") {
		t.Errorf("code %d: %s", code, stderr)
	}
	write("docks.json", `{"type":"FeatureCollection","features":[`+upSquare+`]}`)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await("READY=1")
	if code, stdout, stderr := outcomeOf(t, "ready", url); code != exitOK || stdout != url+" is ready\n" {
		t.Errorf("%s: code %d: %s%s", at, code, stdout, stderr)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if code, _, _ := outcomeOf(t, "ready", url); code != exitFailure {
		t.Errorf("a platform that is gone: code %d", code)
	}
	if code, _, _ := outcomeOf(t, "ready", "127.0.0.1:8080"); code != exitUsage {
		t.Errorf("no address: code %d", code)
	}
	if code, _, _ := outcomeOf(t, "ready", "unix:"+filepath.Join(sets, "none")); code != exitFailure {
		t.Errorf("no socket: code %d", code)
	}
}

func TestNotifySocketIsChecked(t *testing.T) {
	cmd := daemon(t, "up", "--data", "off")
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET=here")
	out, _ := cmd.CombinedOutput() // the code is below
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(string(out), "NOTIFY_SOCKET=here: neither an absolute path") {
		t.Errorf("code %d: %s", code, out)
	}
}
