//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"paddock/bus"
	lab "paddock/lab/cli"
)

// startWorker starts a worker, and returns when it waits for runs.
func startWorker(t *testing.T, url string) *exec.Cmd {
	t.Helper()
	cmd := program(t, "bench", "worker", "--bus", url)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	lines := bufio.NewReader(stderr)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "waits for runs") || strings.Contains(line, "s3cret") {
		t.Fatalf("%q, %v", line, err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, lines)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error if it has ended
		<-read
	})
	return cmd
}

// Two workers make one run, over TLS and with a body for each request. The document names them, and
// no file has the secret of the bus. A worker ends at SIGTERM.
func TestBenchWorkers(t *testing.T) {
	t.Parallel()
	url := "nats://s3cret@" + broker(t, bus.Config{Token: "s3cret"})
	workers := []*exec.Cmd{startWorker(t, url), startWorker(t, url)}
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.HasPrefix(r.URL.Path, "/at-") || (string(body) != "one" && string(body) != "two") {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer service.Close()
	dir := t.TempDir()
	bodies := filepath.Join(dir, "bodies")
	if err := os.WriteFile(bodies, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := outcome(t, service.URL+"/at-1", "--insecure", "--bodies", bodies, "-n", "201", "-c", "4", "--workers", "2", "--bus", url, "--json", "--allow-red",
		"--out", dir, "--slo", "err<=0%")
	var d lab.Document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != 0 {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if d.Totals.Good != 201 || d.Response.Count != 201 || d.Plan.Threads != 2 || d.Totals.Connects != 4 || len(d.Workers) != 2 || strings.Contains(stdout, "s3cret") {
		t.Errorf("%s", stdout)
	}
	for i, w := range d.Workers {
		if w.State != "whole" || w.Coverage != 1 || w.Done == 0 || w.Cores < 1 || w.Verdict == "" {
			t.Errorf("worker %d: %+v", i, w)
		}
	}
	code, _, stderr = outcome(t, "http://"+deadAddress(t), "-n", "20", "-c", "2", "-q", "--workers", "2", "--bus", url)
	if code != 4 || strings.Count(stderr, "counted: connect-refused") != 2 {
		t.Errorf("code %d: %s", code, stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), d.Workers[0].Name) || strings.Contains(string(page), "s3cret") {
		t.Errorf("the page does not name the workers: %v", err)
	}
	for _, w := range workers {
		if err := w.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := w.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// A worker that is killed in the middle of a run is named, and the run is not taken for a whole
// one: it ends, or goes on with the other.
func TestBenchWorkerKilled(t *testing.T) {
	t.Parallel()
	for missing, duration := range map[string]string{"abort": "1h", "continue": "8s"} {
		t.Run(missing, func(t *testing.T) { // in turn: parallel ones would wait at the end, after all others
			s := newService(t)
			url := "nats://" + broker(t, bus.Config{})
			startWorker(t, url)
			victim := startWorker(t, url)
			cmd := benchHTTP(t, s.URL, "--rate", "100/s", "-d", duration, "--workers", "2", "--bus", url, "--missing", missing, "--json", "--slo", "p99<1h")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			startOf(t, cmd)
			lines := bufio.NewReader(stderr)
			if _, err := lines.ReadString('\n'); err != nil { // the first second
				t.Fatal(err)
			}
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			var d lab.Document
			if err := json.NewDecoder(stdout).Decode(&d); err != nil {
				t.Fatal(err)
			}
			log, _ := io.ReadAll(lines)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(string(log), "coverage=") || !strings.Contains(string(log), "it gave no answer to 3 beats") {
				t.Errorf("code %d: %s", code, log)
			}
			states := ""
			for _, w := range d.Workers {
				states += w.State + " "
			}
			if states != "whole lost " && states != "lost whole " || d.Verdict.Level != "red" || d.Totals.Done == 0 {
				t.Errorf("%s, %+v", states, d)
			}
		})
	}
}

// Mistakes, and a bus or workers that are not there.
func TestBenchWorkerEndings(t *testing.T) {
	t.Parallel()
	s, dead := newService(t), deadAddress(t)
	checkEndings(t, "bench", "", []ending{
		{"no bus", "worker", 2, "--bus is missing"},
		{"no bus there", "worker --bus nats://" + dead, 1, "the bus: "},
		{"workers without a bus", "http " + s.URL + " --workers 2", 2, "--workers takes --bus"},
		{"a bus without workers", "http " + s.URL + " -n 20 -c 2 --allow-red --bus nats://" + dead, 2, "--bus is about --workers"},
		{"too many", "http " + s.URL + " --workers 65 --bus nats://" + dead, 2, "--workers 65: 1 to 64"},
		{"a socket", "http " + s.URL + " --unix /tmp/s --workers 2 --bus nats://" + dead, 2, "which workers do not have"},
		{"too few connections", "http " + s.URL + " -c 3 --threads 2 --workers 2 --bus nats://" + dead, 2, "3 connections for 4 threads"},
		{"no worker joins", "http " + s.URL + " -q --workers 1 --bus nats://" + broker(t, bus.Config{}), 4, "0 of 1 workers have joined: no more came within 10s"},
	})
}
