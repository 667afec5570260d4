//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	lab "paddock/lab/cli"
)

// wrkOutcome runs the command to its end, which judges no generator of a test's machine.
func wrkOutcome(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return outcomeOf(t, append([]string{"bench", "wrk", "--allow-red"}, args...)...)
}

// The text is wrk's, and names the connections of the command line, although the remainder of a
// division by the threads is not made. The report follows.
func TestBenchWrk(t *testing.T) {
	t.Parallel()
	s := newService(t)
	code, stdout, stderr := wrkOutcome(t, "-t3", "-c=5", "-d1", "--latency", "-HX-One: a", "-H", "host: other", s.URL+"/x?y")
	want := regexp.MustCompile(`^Running 1s test @ ` + s.URL + `/x\?y
  3 threads and 5 connections
  Thread Stats   Avg      Stdev     Max   \+/- Stdev
    Latency .*%
    Req/Sec .*%
 Latency\(wrk\) .*%
  Latency Distribution
     50% .*
     75% .*
     90% .*
     99% .*
  [1-9]\d* requests in 1.0\ds, .*B read
Requests/sec: .*
Transfer/sec: .*B

GET `)
	if code != 0 || !want.MatchString(stdout) || !strings.Contains(stdout, "\n3 connections, closed") || stderr != "" {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	if r := s.seen.Load(); r.Method != "GET" || r.URL.String() != "/x?y" || r.Host != "other" || r.Header.Get("X-One") != "a" || len(r.Header) != 1 {
		t.Errorf("%s %v %s %v", r.Method, r.URL, r.Host, r.Header)
	}
}

// Bodies are posted in turns, the empty one too if wrk's scripts would send it.
func TestBenchWrkBodies(t *testing.T) {
	t.Parallel()
	s := newService(t)
	file := filepath.Join(t.TempDir(), "bodies")
	if err := os.WriteFile(file, []byte("one\n\none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--bodies", file}, {"--bodies", file, "--bodies-compat", "--block"}} {
		code, stdout, stderr := wrkOutcome(t, append(args, "-t1", "-c1", "-d1", s.URL+"/echo")...)
		r := s.seen.Load()
		if body := *s.body.Load(); code != 0 || r.Method != "POST" || body != "one" && (body != "" || len(args) < 3) {
			t.Errorf("code %d: %s %q: %s%s", code, r.Method, body, stdout, stderr)
		}
		if plain := strings.Contains(stdout, "Latency(wrk)"); plain != (len(args) < 4) || plain != strings.Contains(stdout, "good answers") {
			t.Errorf("%s", stdout)
		}
	}
}

// Failures are counted as wrk does. The exit code is that of wrk, and with objectives that of all
// benchmarks.
func TestBenchWrkFailures(t *testing.T) {
	t.Parallel()
	s := newService(t)
	nobody := "http://" + deadAddress(t)
	for _, tc := range []struct {
		args string
		code int
		want string // an expression
	}{
		{"-d1 -c2 " + s.URL + "/fail", 0, `Non-2xx or 3xx responses: [1-9]`},
		{"-d1 -c2 --slo err<1% " + s.URL + "/fail", 3, `Non-2xx or 3xx responses: [1-9]`},
		{"-d1 -c2 -T1 --grace 1 " + s.URL + "/never", 0, `timeout 2\n`},
		{"-d1 -c2 -T1 --grace 1 --slo err<1% " + s.URL + "/never", 4, `no request was answered`},
		{"-d1 " + nobody, 1, `does not answer: connect-refused`},
		{"-d1 --slo err<1% " + nobody, 4, `does not answer: connect-refused`},
	} {
		code, stdout, stderr := wrkOutcome(t, strings.Fields(tc.args)...)
		if code != tc.code || !regexp.MustCompile(tc.want).MatchString(stdout+stderr) || strings.Contains(stdout, "Running") == strings.Contains(tc.args, nobody) {
			t.Errorf("%s: code %d: %s%s", tc.args, code, stdout, stderr)
		}
	}
}

// Ctrl-C ends the run with its report, and with the exit code of wrk.
func TestBenchWrkInterrupted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cmd := program(t, "bench", "wrk", "-t1", "-c1", "-d1h", s.URL)
	out := s.interrupt(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 0 || !bytes.Contains(out, []byte(" requests in ")) {
		t.Errorf("code %d: %s", code, out)
	}
}

// The files and the object are those of any benchmark.
func TestBenchWrkFiles(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := wrkOutcome(t, "-d1", "-t1", "-c2", "--json", "--out", dir, "-v", strings.Replace(s.URL, "http://", "http://me:s3cret@", 1))
	var summary lab.Document
	if err := json.Unmarshal([]byte(stdout), &summary); err != nil || code != 0 || !strings.HasPrefix(stderr, "paddock ") || strings.Count(stderr, "\n") != 1 {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if n := summary.Totals; n.Good == 0 || n.Status["200"] != n.Good || summary.Plan.Conns != 2 || summary.Columns["requests"] == 0 || strings.Contains(stdout, "s3cret") {
		t.Errorf("%s", stdout)
	}
	for _, name := range []string{"run.json", "report.html"} {
		if kept, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(kept) == 0 || bytes.Contains(kept, []byte("s3cret")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
