package notify

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// socket is the socket of a service manager.
type socket struct {
	t    *testing.T
	conn *net.UnixConn
	name string
}

func listen(t *testing.T, name string) *socket {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &socket{t, conn, name}
}

func (s *socket) next() map[string]string {
	s.t.Helper()
	b := make([]byte, 4096)
	if err := s.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	n, err := s.conn.Read(b)
	if err != nil {
		s.t.Fatal(err)
	}
	message := map[string]string{}
	for line := range strings.SplitSeq(string(b[:n]), "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			s.t.Fatalf("%q is no line of a message", line)
		}
		message[key] = value
	}
	return message
}

// Each message has the keys that sd_notify(3) names, over a socket with a path and an abstract one.
func TestMessages(t *testing.T) {
	names := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		names = append(names, fmt.Sprintf("@paddock-notify-%d", os.Getpid()))
	}
	for _, name := range names {
		s := listen(t, name)
		m, err := Open([]string{"NOTIFY_SOCKET=/nowhere", "NOTIFY_SOCKET=" + name}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			key, status string
			send        func(string) error
		}{
			{"READY", "ready: 3 sets", m.Ready},
			{"RELOADING", "reading the file", m.Reloading},
			{"READY", "ready again", m.Reloaded},
			{"WATCHDOG", "12 objects", m.Alive},
			{"STOPPING", "stopping: terminated", m.Stopping},
		} {
			if err := c.send(c.status); err != nil {
				t.Fatal(err)
			}
			got := s.next()
			if got[c.key] != "1" || got["STATUS"] != c.status {
				t.Errorf("%s: %v", c.key, got)
			}
			at, err := strconv.ParseInt(got["MONOTONIC_USEC"], 10, 64)
			if c.key == "RELOADING" && runtime.GOOS == "linux" && (err != nil || at <= 0) {
				t.Errorf("the time of the reload is %q", got["MONOTONIC_USEC"])
			}
		}
	}
}

// A signal to reload that comes before the start is complete does not complete it.
func TestReloadDuringTheStart(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "notify"))
	m, err := Open([]string{"NOTIFY_SOCKET=" + s.name}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{m.Status("starting"), m.Reloading("reading"), m.Reloaded("read"), m.Alive("alive"), m.Ready("ready")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"starting", "ready"} {
		if got := s.next(); got["STATUS"] != want {
			t.Errorf("%v", got)
		}
	}
}

// After Stopping nothing says that the process runs.
func TestStoppingIsTheLastState(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "notify"))
	m, err := Open([]string{"NOTIFY_SOCKET=" + s.name}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{m.Stopping("stopping"), m.Ready("ready"), m.Reloaded("ready"), m.Reloading("reading"), m.Alive("alive"), m.Status("draining")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := s.next(); got["STOPPING"] != "1" {
		t.Errorf("%v", got)
	}
	if got := s.next(); got["STATUS"] != "draining" {
		t.Errorf("%v", got)
	}
}

// A status is one line of bounded length, whatever it is made of.
func TestStatusIsALine(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "notify"))
	m, err := Open([]string{"NOTIFY_SOCKET=" + s.name}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Status("bad\nSTOPPING=1 \xff " + strings.Repeat("ä", maxStatus)); err != nil {
		t.Fatal(err)
	}
	got := s.next()
	if len(got) != 1 || !strings.HasPrefix(got["STATUS"], "bad STOPPING=1 ? ä") || len(got["STATUS"]) > maxStatus || strings.ContainsRune(got["STATUS"], '\ufffd') {
		t.Errorf("%q", got)
	}
}

func TestWithoutAManager(t *testing.T) {
	m, err := Open([]string{"NOTIFY_SOCKET=", "WATCHDOG_USEC=1000000"}, 1)
	if m != nil || err != nil {
		t.Fatalf("%v, %v", m, err)
	}
	for _, err := range []error{m.Ready(""), m.Reloading(""), m.Alive(""), m.Status(""), m.Stopping("")} {
		if err != nil {
			t.Error(err)
		}
	}
	if m.Watchdog() != 0 {
		t.Error("a watchdog without a manager")
	}
}

func TestEnvironment(t *testing.T) {
	const socket = "NOTIFY_SOCKET=/run/notify"
	for _, c := range []struct {
		name     string
		environ  []string
		watchdog time.Duration
		fault    string
	}{
		{"no watchdog", []string{socket}, 0, ""},
		{"a watchdog", []string{socket, "WATCHDOG_USEC=1500000"}, 1500 * time.Millisecond, ""},
		{"of this process", []string{socket, "WATCHDOG_USEC=2000000", "WATCHDOG_PID=7"}, 2 * time.Second, ""},
		{"of another process", []string{socket, "WATCHDOG_USEC=2000000", "WATCHDOG_PID=8"}, 0, ""},
		{"no number", []string{socket, "WATCHDOG_USEC=2s"}, 0, "WATCHDOG_USEC=2s: not a number of microseconds"},
		{"zero", []string{socket, "WATCHDOG_USEC=0"}, 0, "WATCHDOG_USEC=0"},
		{"too large", []string{socket, "WATCHDOG_USEC=9223372036854775807"}, 0, "WATCHDOG_USEC=9223372036854775807"},
		{"a relative path", []string{"NOTIFY_SOCKET=notify"}, 0, "NOTIFY_SOCKET=notify: neither an absolute path"},
		{"no name", []string{"NOTIFY_SOCKET=@"}, 0, "NOTIFY_SOCKET=@"},
	} {
		m, err := Open(c.environ, 7)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", c.name, err)
		}
		if m.Watchdog() != c.watchdog {
			t.Errorf("%s: %v", c.name, m.Watchdog())
		}
	}
}

// A manager that is gone costs an error, and no wait.
func TestNoListener(t *testing.T) {
	m, err := Open([]string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "gone")}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Ready("ready"); err == nil {
		t.Error("no error")
	}
}
