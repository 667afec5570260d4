//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	lab "paddock/lab/cli"
)

// service answers / with hello, /fail with 503, /echo with the request's body, and /never
// not at all.
type service struct {
	*httptest.Server
	asked chan struct{} // one for each of the first requests
	seen  atomic.Pointer[http.Request]
	body  atomic.Pointer[string]
}

// answerTime bounds the processor time of a closed run.
const answerTime = 3 * time.Millisecond

func newService(t *testing.T) *service {
	s := &service{asked: make(chan struct{}, 100)}
	over := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s.asked <- struct{}{}:
		default:
		}
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		s.seen.Store(r)
		s.body.Store(&text)
		<-time.After(answerTime)
		switch r.URL.Path {
		case "/fail":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/echo":
			_, _ = w.Write(body)
		case "/never":
			<-over
		default:
			_, _ = w.Write([]byte("hello"))
		}
	}))
	t.Cleanup(s.Server.Close)
	t.Cleanup(func() { close(over) })
	return s
}

// benchHTTP is the command as a process, which ends with the test.
func benchHTTP(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return program(t, append([]string{"bench", "http"}, args...)...)
}

// outcome runs the command to its end.
func outcome(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return outcomeOf(t, append([]string{"bench", "http"}, args...)...)
}

// Every exit code, with its message.
func TestBenchHTTPExitCodes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	nobody := "http://" + deadAddress(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	checkEndings(t, "bench http", "", []ending{
		{"nothing asked", s.URL + " -n 20 -c 2 --allow-red", 0, "20 sent, 20 answered"},
		{"met", s.URL + " -n 400 -c 2 --allow-red --slo p99<1m,err<=0%", 0, "met      p99<1m0s"},
		{"open and met", s.URL + " --rate 2000/s -n 400 --allow-red --slo max<1m,rate>=0.01*target", 0, "2000/s over 50 connections"},
		{"no scheme", strings.TrimPrefix(s.URL, "http://") + " -n 20 -c 2", 0, "20 sent, 20 answered"},
		{"as hey", s.URL + " -z 20ms -c 2 --json -q", 0, `"duration_ns": 20000000`},
		{"as hey and not", s.URL + " -z 20ms -d 30ms", 2, "-z and -d are the same"},
		{"objectives with semicolons", s.URL + " -n 20 -c 2 --allow-red --slo max<1m;err<=0%", 0, "met      err<=0%"},
		{"no directory", s.URL + " -n 20 --allow-red --out " + file, 1, "not a directory"},
		{"several URLs", s.URL + " " + s.URL + "/fail -n 20 -c 2 --allow-red", 0, "GET " + s.URL + "/fail"},
		{"several services", s.URL + " http://127.0.0.1:1/ -n 20", 2, "http://127.0.0.1:1/ is not of the service of " + s.URL + ": a run has one"},
		{"several URLs and bodies", s.URL + " " + s.URL + " --bodies " + file, 2, "take one URL"},
		{"no URL", "", 2, `expected "<url> ..."`},
		{"unknown flag", s.URL + " --speed 1", 2, "unknown flag --speed"},
		{"objective", s.URL + " --slo p99=1ms", 2, `--slo: column 4: "=" is no comparison`},
		{"in the object", s.URL + " -n 400 -c 2 --allow-red --json --slo max<1m,rate<1/s", 3, `"outcome": "missed"`},
		{"missed", s.URL + " -n 400 -c 2 --allow-red --slo p99<1ns", 3, "objectives that were not met: 1, the first p99<1ns: missed"},
		{"status", s.URL + "/fail -n 20 -c 2 --allow-red --slo err<1%", 3, "20, 100.0 %: status 20"},
		{"too few", s.URL + " -n 20 -c 2 --allow-red --slo p99<1m", 4, "it takes 299 answers, and there were 20): measure for longer"},
		{"nobody there", nobody, 4, "does not answer: connect-refused"},
		{"not the service's", s.URL + "/never -n 1 -c 1 --grace 10ms -d 10ms --slo err<=100%", 4, "no request was answered"},
		{"no answer", s.URL + "/never -n 1 -c 1 --allow-red --grace 10ms -d 10ms", 4, "no request was answered"},
	})
}

// Where the generator is the bottleneck, here for want of descriptors, its numbers are bounds:
// objectives that they prove are judged, and without objectives nothing is amiss.
func TestBenchHTTPRed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, tc := range []struct {
		slo  string
		code int
		want string
	}{
		{"", 0, "RED: generator-bound"},
		{"p99<1h,rate>=0.001/s,err<99%", 0, "met      p99<1h0m0s"},
		{"p99<1h,p50>1h", 3, "p50>1h0m0s: missed"},
		{"p99<1h,rate<1000000000/s", 4, "objectives that cannot be told: 1, the first rate<1000000000/s: unknown"},
		{"p99<1ns", 4, "--allow-red judges the numbers as they are"},
	} {
		args := []string{"-c", `ulimit -n 40; exec "$0" "$@"`, plain(t), "bench", "http", s.URL, "-c", "60", "-n", "400", "-q"}
		if tc.slo != "" {
			args = append(args, "--slo", tc.slo)
		}
		ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", args...)
		var log bytes.Buffer
		cmd.Stderr = &log
		out, _ := cmd.Output() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out)+log.String(), tc.want) || (log.Len() == 0) != (code == 0) {
			t.Errorf("%q: code %d, want %d and %q:\n%s%s", tc.slo, code, tc.code, tc.want, out, log.String())
		}
	}
}

// The requests follow the flags.
func TestBenchHTTPRequests(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tc := range []struct {
		name         string
		args         []string
		method, path string
		body         string
	}{
		{"plain", []string{s.URL + "/x"}, "GET", "/x", ""},
		{"method", []string{s.URL + "/x", "-m", "PUT"}, "PUT", "/x", ""},
		{"body", []string{s.URL + "/x", "--body", "b {{rand 7 7}}"}, "POST", "/x", "b 7"},
		{"empty body", []string{s.URL + "/x", "--body", ""}, "POST", "/x", ""},
		{"body of a file", []string{s.URL + "/x", "--body-file", write("body", "{{seq}}\n")}, "POST", "/x", "{{seq}}\n"},
		{"bodies", []string{s.URL + "/x", "--bodies", write("bodies", "\n\none\n")}, "POST", "/x", "one"},
		{"targets", []string{s.URL, "--targets", write("targets", "DELETE /y\n")}, "DELETE", "/y", ""},
		{"a path with a placeholder", []string{s.URL + "/{{rand 5 5}}"}, "GET", "/5", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := outcome(t, append(tc.args, "-n", "1", "-c", "1", "-q", "--allow-red", "-H", "X-One: a", "-H", "X-Two: b, c")...)
			r := s.seen.Load()
			if code != 0 || r.Method != tc.method || r.URL.Path != tc.path || *s.body.Load() != tc.body ||
				r.Header.Get("X-One") != "a" || r.Header.Get("X-Two") != "b, c" || !strings.HasPrefix(r.UserAgent(), "paddock/") {
				t.Errorf("code %d: %s %s %q %v %s", code, r.Method, r.URL.Path, *s.body.Load(), r.Header, stderr)
			}
		})
	}
}

// The JSON agrees with the text, neither contains secrets, and --quiet changes neither.
func TestBenchHTTPReports(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := filepath.Join(t.TempDir(), "out", "here")
	code, stdout, stderr := outcome(t, strings.Replace(s.URL, "http://", "http://me:s3cret@", 1), "-n", "20", "-c", "2", "--json", "-q", "--allow-red",
		"--out", dir, "-H", "Authorization: Bearer s3cret", "-HCookie: a=s3cret")
	var summary lab.Document
	if err := json.Unmarshal([]byte(stdout), &summary); err != nil || code != 0 || stderr != "" {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if n := summary.Totals; n.Sent != 20 || n.Good != 20 || n.Status["200"] != 20 || summary.Response.Count != 20 {
		t.Errorf("%s", stdout)
	}
	for _, name := range []string{"run.json", "report.html", "seconds.csv", "run.hlog"} {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(kept) == 0 || strings.Contains(string(kept), "s3cret") {
			t.Errorf("%s: %v: %s", name, err, kept)
		}
		if name == "run.json" && string(kept) != stdout {
			t.Errorf("%s", kept)
		}
	}
	if !strings.Contains(stdout, "Authorization: REDACTED") {
		t.Errorf("%s", stdout)
	}
	code, stdout, stderr = outcome(t, s.URL, "-n", "20", "-c", "2", "-q", "--repeat", "2", "--allow-red", "--out", dir)
	if code != 0 || stderr != "" || !strings.Contains(stdout, "Run 2 of 2") || !strings.Contains(stdout, "median") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "2", "report.html")); err != nil {
		t.Error(err)
	}
}

func TestBenchHTTPOverUnixAndTLS(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Host)) })
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	unix := &httptest.Server{Listener: listener, Config: &http.Server{Handler: hello}}
	unix.Start()
	defer unix.Close()
	if code, stdout, stderr := outcome(t, "http://name/", "--unix", path, "-n", "20", "-c", "2", "-q", "--allow-red"); code != 0 || !strings.Contains(stdout, "bodies 80 B") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	secure := httptest.NewTLSServer(hello)
	defer secure.Close()
	if code, stdout, stderr := outcome(t, secure.URL, "--insecure", "-n", "20", "-c", "2", "-q", "--allow-red"); code != 0 || !strings.Contains(stdout, "200: 20") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := outcome(t, secure.URL, "-c", "2", "-q"); code != 4 || !strings.Contains(stderr, "certificate") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
}

// HTTP/2 is negotiated over TLS, and a service that does not have it is told apart.
func TestBenchHTTP2(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	secure := httptest.NewUnstartedServer(handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	args := []string{"--insecure", "--http2", "--depth", "5", "-n", "20", "-c", "2", "-q", "--json"}
	code, stdout, stderr := outcome(t, append(args, secure.URL)...)
	var d lab.Document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code > 4 || d.Plan.Driver != "http/2" || d.Totals.Good != 20 || d.Totals.BodyIn != 20*int64(len("HTTP/2.0")) {
		t.Errorf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if d.TLS == nil || d.TCP == nil || d.DNS != nil || len(d.Targets) != 0 {
		t.Errorf("%s", stdout)
	}
	old := httptest.NewTLSServer(handler)
	defer old.Close()
	if code, stdout, stderr := outcome(t, append(args, old.URL)...); code != 4 || !strings.Contains(stderr, "tls: the service does not offer HTTP/2") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	plain := newService(t)
	if code, stdout, stderr := outcome(t, plain.URL, "--http2", "-d", "50ms", "-c", "1", "-q"); code != 4 || !strings.Contains(stdout, "it answers with HTTP/1") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
}

// interrupt runs a command that asks the service, sends it a Ctrl-C after ten requests, and returns
// its output.
func (s *service) interrupt(t *testing.T, cmd *exec.Cmd) (stdout []byte) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		<-s.asked
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return out.Bytes()
}

// deadAddress returns an address that refuses connections until the test ends: a socket is bound to
// it that does not listen, so that no other test gets the port.
func deadAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
}

// The first Ctrl-C ends the sending, waits for answers and reports.
func TestBenchHTTPInterrupted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cmd := benchHTTP(t, s.URL, "-c", "1", "-d", "1h", "--json", "-q")
	out := s.interrupt(t, cmd)
	var summary lab.Document
	if err := json.Unmarshal(out, &summary); err != nil || cmd.ProcessState.ExitCode() != 130 {
		t.Fatalf("%v: %v, %s", cmd.ProcessState, err, out)
	}
	if n := summary.Totals; !n.Interrupted || n.Done < 9 || n.Done != n.Sent {
		t.Errorf("%s", out)
	}
}

// The second Ctrl-C ends it at once, although an answer is waited for.
func TestBenchHTTPInterruptedTwice(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cmd := benchHTTP(t, s.URL+"/never", "-c", "1", "-d", "1h", "--grace", "1h", "--timeout", "1h")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-s.asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "once more ends it at once") {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v", cmd.ProcessState)
	}
}
