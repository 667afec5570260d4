//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	lab "paddock/lab/cli"
)

// outcomeOfAB runs paddock bench ab to its end.
func outcomeOfAB(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return outcomeOf(t, append([]string{"bench", "ab"}, args...)...)
}

// Every exit code except for usage, with its message. It is 0 where ab's is.
func TestBenchABExitCodes(t *testing.T) {
	t.Parallel()
	s := newService(t)
	nobody := "http://" + deadAddress(t) + "/"
	resets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}))
	defer resets.Close()
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	checkEndings(t, "bench ab", "", []ending{
		{"closed connections", "-n 20 -c 2 " + s.URL + "/", 0, "Complete requests:      20\nFailed requests:        0\nTotal"},
		{"kept connections", "-n20 -kc2 " + s.URL + "/", 0, "\nKeep-Alive requests:    20\n"},
		{"the truth", "-n=20 " + s.URL + "/", 0, "20 sent, 20 answered"},
		{"status", "-n 20 " + s.URL + "/fail", 0, "\nNon-2xx responses:      20\n"},
		{"request", "-n 20 -v 2 " + s.URL + "/", 0, "INFO: GET header == \n---\nGET / HTTP/1.0\r\n"},
		{"TLS", "-n 20 -k " + secure.URL + "/", 0, "\nSSL/TLS Protocol:       TLSv1.3,TLS_AES_128_GCM_SHA256,2048,128\n\nDocument"},
		{"no file", "-n 20 -e /nowhere/x " + s.URL + "/", 1, "/nowhere/x"},
		{"no URL", "-n 20", 2, "one URL is measured"},
		{"nobody there", nobody, 1, "does not answer: connect-refused"},
		{"broken", "-n 20 " + resets.URL + "/", 1, " requests completed\n"},
		{"broken, says why", "-n 20 " + resets.URL + "/", 1, "-r goes on"},
		{"broken, goes on", "-n 20 -r " + resets.URL + "/", 0, "(Connect: 0, Receive: 20, Length: 0, Exceptions: 0)"},
		{"silent", "-n 20 -s 1 " + s.URL + "/never", 1, "no answer came for 1s"},
	})
}

// The object is all that --json prints, and no file has secrets.
func TestBenchABFiles(t *testing.T) {
	t.Parallel()
	s := newService(t)
	dir := t.TempDir()
	code, stdout, stderr := outcomeOfAB(t, "-n", "200", "-kc2", "--json", "--out", dir, "-kA", "me:s3cret", "-C", "a=s3cret",
		"-g", filepath.Join(dir, "g.tsv"), s.URL+"/")
	var document lab.Document
	if err := json.Unmarshal([]byte(stdout), &document); err != nil || code != 0 || stderr != "" {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if n := document.Totals; n.Sent != 200 || n.Good != 200 || document.Response.Count != 200 {
		t.Errorf("%s", stdout)
	}
	// ab's mean is the connections over the rate.
	if c := document.Columns; c["per_second"] == 0 || math.Abs(c["mean_ns"]*c["per_second"]/2e9-1) > 1e-9 || c["total_max_ns"] < c["total_mean_ns"] {
		t.Errorf("columns %v", c)
	}
	if user, password, _ := s.seen.Load().BasicAuth(); user != "me" || password != "s3cret" {
		t.Errorf("sent %v", s.seen.Load().Header)
	}
	for _, name := range []string{"run.json", "report.html", "seconds.csv", "run.hlog", "g.tsv"} {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || len(kept) == 0 || strings.Contains(string(kept), "s3cret") {
			t.Errorf("%s: %v: %s", name, err, kept)
		}
	}
}

// Ctrl-C ends the run, and the measurements are reported.
func TestBenchABInterrupted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	cmd := program(t, "bench", "ab", "-q", "-t", "3600", "-n", "1000000000", s.URL+"/")
	out := s.interrupt(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 1 || !bytes.Contains(out, []byte("\nComplete requests:      ")) {
		t.Errorf("code %d: %s", code, out)
	}
}
