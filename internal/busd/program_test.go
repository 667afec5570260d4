package busd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/process/lifecycle"
	"paddock/internal/process/notify"
)

// run is a program under test.
type run struct {
	t       *testing.T
	dir     string
	signals chan os.Signal
	lines   chan string // of the log; closed at the end
	seen    []string
	err     chan error
}

// start runs a program with a configuration file, and waits until it is ready.
func start(t *testing.T, config string) *run {
	t.Helper()
	return startManaged(t, config, nil)
}

// startManaged does the same under a service manager.
func startManaged(t *testing.T, config string, manager *notify.Manager) *run {
	t.Helper()
	r := &run{t: t, dir: t.TempDir(), signals: make(chan os.Signal), lines: make(chan string, 100), err: make(chan error, 1)}
	r.configure(config)
	out, in := io.Pipe()
	p := &Program{Source: Source{File: r.file()}, Name: "depot", Stderr: in, Signals: r.signals, Manager: manager}
	go func() {
		r.err <- p.Run(t.Context())
		in.Close()
	}()
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	r.await("Server is ready")
	return r
}

func (r *run) file() string { return filepath.Join(r.dir, "bus.conf") }

func (r *run) configure(text string) {
	r.t.Helper()
	text = strings.ReplaceAll(text, "$DIR", r.dir)
	if err := os.WriteFile(r.file(), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// await returns the next line with a text in it.
func (r *run) await(text string) string {
	r.t.Helper()
	for line := range r.lines {
		r.seen = append(r.seen, line)
		if strings.Contains(line, text) {
			return line
		}
	}
	r.t.Fatalf("the log has no %q:\n%s", text, strings.Join(r.seen, "\n"))
	return ""
}

// stop ends the program and reports how that went.
func (r *run) stop(sig os.Signal) error {
	r.signals <- sig
	for line := range r.lines {
		r.seen = append(r.seen, line)
	}
	return <-r.err
}

// ports reads the ports file.
func (r *run) ports() (p ports) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "depot_"+strconv.Itoa(os.Getpid())+".ports"))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func TestProgramTellsWhereItIs(t *testing.T) {
	r := start(t, `port: -1, http: -1, prof_port: -1, ports_file_dir: "$DIR", pid_file: "$DIR/pid"
websocket {port: -1, no_tls: true}
http_base_path: "/bus", server_tags: [depot ], max_payload: 1234`)
	p := r.ports()
	for name, urls := range map[string][]string{"nats": p.NATS, "monitoring": p.Monitoring, "profile": p.Profile, "websocket": p.WebSocket} {
		if len(urls) != 1 || !strings.Contains(urls[0], "://127.0.0.1:") {
			t.Errorf("%s: %q", name, urls)
		}
	}
	if pid, err := os.ReadFile(filepath.Join(r.dir, "pid")); string(pid) != strconv.Itoa(os.Getpid()) {
		t.Errorf("pid file %q, %v", pid, err)
	}
	nc, err := nats.Connect(p.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	if nc.MaxPayload() != 1234 {
		t.Errorf("max_payload is %d", nc.MaxPayload())
	}
	nc.Close()
	for url, want := range map[string]string{
		p.Monitoring[0] + "/bus/varz":              `"max_payload": 1234`,
		p.Monitoring[0] + "/bus/healthz":           `"ok"`,
		p.Profile[0] + "/debug/pprof/cmdline":      "404",
		p.Profile[0] + "/debug/pprof/heap?debug=1": "heap profile",
	} {
		if body := get(t, url); !strings.Contains(body, want) {
			t.Errorf("%s: %.300s", url, body)
		}
	}
	if err := r.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	inOrder(t, r.seen, "Starting", "Using configuration file: "+r.file()+" (sha256:", "Starting http monitor on 127.0.0.1:",
		"Listening for client connections on 127.0.0.1:", "Listening for websocket clients on ws://127.0.0.1:", "Server is ready",
		`Trapped "terminated" signal`, "Initiating Shutdown...", "Server Exiting..")
	if left, err := os.ReadDir(r.dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// inOrder checks that lines with these texts come one after the other.
func inOrder(t *testing.T, lines []string, texts ...string) {
	t.Helper()
	rest := lines
	for _, text := range texts {
		at := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, text) })
		if at < 0 {
			t.Fatalf("no %q in its place:\n%s", text, strings.Join(lines, "\n"))
		}
		rest = rest[at+1:]
	}
}

// A reload changes the password: a client with the old one is closed and cannot reconnect, a client
// with the new one is admitted. A wrong file changes nothing.
func TestReloadOfAPassword(t *testing.T) {
	const config = "port: -1, ports_file_dir: \"$DIR\", authorization {user: ann, password: "
	r := start(t, config+"old}")
	url := r.ports().NATS[0]
	told, closed := make(chan error, 1), make(chan struct{})
	nc, err := nats.Connect(url, nats.UserInfo("ann", "old"), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { told <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r.configure(config)
	r.signals <- syscall.SIGHUP
	r.await("Failed to reload server configuration: ")
	r.configure("port: 1, ports_file_dir: \"$DIR\", authorization {user: ann, password: old}")
	r.signals <- syscall.SIGHUP
	if line := r.await("Failed to reload server configuration: "); !strings.Contains(line, "Port cannot change") {
		t.Errorf("got %q", line)
	}
	r.configure("port: -1, authorization {user: ann, password: old}")
	r.signals <- syscall.SIGHUP
	if line := r.await("Failed to reload server configuration: "); !strings.Contains(line, "ports_file_dir cannot change") {
		t.Errorf("got %q", line)
	}
	if err := nc.Flush(); err != nil {
		t.Errorf("after reloads that failed: %v", err)
	}
	r.configure(config + "new, }, debug: true")
	r.signals <- syscall.SIGHUP
	r.await("Reloaded server configuration (sha256:")
	<-closed
	if err := <-told; !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("closed with %v", err)
	}
	if _, err := nats.Connect(url, nats.UserInfo("ann", "old")); err == nil {
		t.Error("let in with the old password")
	}
	second, err := nats.Connect(url, nats.UserInfo("ann", "new"))
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if err := r.stop(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	if text := strings.Join(r.seen, "\n"); strings.Contains(text, "old}") || strings.Contains(text, "password") {
		t.Errorf("a password is in the log:\n%s", text)
	}
}

// Lame duck mode ends the program by itself; SIGTERM meanwhile is ignored, a second
// SIGUSR2 too.
func TestLameDuckEndsTheProgram(t *testing.T) {
	r := start(t, `port: -1, ports_file_dir: "$DIR", lame_duck_duration: "400ms", lame_duck_grace_period: "200ms"`)
	told, closed := make(chan struct{}), make(chan struct{})
	nc, err := nats.Connect(r.ports().NATS[0], nats.NoReconnect(),
		nats.LameDuckModeHandler(func(*nats.Conn) { close(told) }), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r.signals <- syscall.SIGUSR2
	r.await("Entering lame duck mode, stop accepting new clients")
	<-told
	r.signals <- syscall.SIGTERM
	r.signals <- syscall.SIGUSR2
	<-closed
	r.await("Server Exiting..")
	if err := <-r.err; err != nil {
		t.Error(err)
	}
	for range r.lines {
	}
	entered := 0
	for _, line := range r.seen {
		entered += strings.Count(line, "Entering lame duck mode")
	}
	if entered != 1 {
		t.Errorf("entered lame duck mode %d times", entered)
	}
}

// SIGINT in lame duck mode stops at once.
func TestInterruptedLameDuck(t *testing.T) {
	r := start(t, `port: -1, ports_file_dir: "$DIR"`)
	nc, err := nats.Connect(r.ports().NATS[0], nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r.signals <- syscall.SIGUSR2
	r.await("Entering lame duck mode")
	begun := time.Now()
	if err := r.stop(syscall.SIGINT); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

func TestReopen(t *testing.T) {
	r := start(t, `port: -1`)
	r.signals <- syscall.SIGUSR1
	r.await("File log re-open ignored, not a file logger")
	if err := r.stop(syscall.SIGINT); err != nil {
		t.Error(err)
	}
}

// What cannot be opened ends the start, and everything that it had begun.
func TestStartFails(t *testing.T) {
	for config, want := range map[string]string{
		`port: -1, pid_file: "/nowhere/pid"`:                      "[FTL] Could not write pidfile: open /nowhere/pid: no such file",
		`port: -1, ports_file_dir: "/nowhere"`:                    "[FTL] Could not write ports file: ",
		`host: "192.0.2.1", port: 1, authorization {token: t}`:    "[FTL] Error listening on port: 192.0.2.1:1, \"",
		`port: -1, http: "192.0.2.1:1", authorization {token: t}`: "[FTL] Can't start monitoring: ",
	} {
		file := filepath.Join(t.TempDir(), "x.conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := (&Program{Source: Source{File: file}, Stderr: &out, Signals: make(chan os.Signal)}).Run(context.Background())
		if !errors.As(err, new(fatal)) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", config, err, out.String())
		}
	}
}

// forced is what a second signal leads to; the first may come twice.
func TestForcedIsLifecycles(t *testing.T) {
	var coder interface{ ExitCode() int }
	if !errors.As(lifecycle.ErrForced, &coder) || report(io.Discard, lifecycle.ErrForced) != coder.ExitCode() {
		t.Error("a second signal has its own exit code")
	}
}
