package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/lab/perf"
)

// wireTestTimeout ends a test whose process does not behave as expected.
const wireTestTimeout = 30 * time.Second

// startWireServe runs `paddock wire serve` with more arguments and returns its first line.
func startWireServe(t *testing.T, args ...string) (cmd *exec.Cmd, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wireTestTimeout)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, "paddock", append([]string{"wire", "serve", "--log-level", "warn"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startOf(t, cmd)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// bench runs `paddock bench wire` and returns its report.
func bench(t *testing.T, args ...string) (r perf.Report, stderr string, err error) {
	t.Helper()
	cmd := programFor(t, wireTestTimeout, append([]string{"bench", "wire", "--json"}, args...)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err = cmd.Run()
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
	}
	return r, log.String(), err
}

// A server over a unix socket, which a SIGTERM drains.
func TestWireServe(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	cmd, address := startWireServe(t, "--addr", "unix:"+socket)
	if address != "unix:"+socket {
		t.Errorf("it says %q", address)
	}
	r, stderr, err := bench(t, "--addr", address, "--do", "verify", "--count", "300", "--routines", "3", "--stream", "4")
	if err != nil || r.Ops != 300 || strings.Contains(stderr, "started a server") {
		t.Errorf("%v, %d calls, %s", err, r.Ops, stderr)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Only clients with the fingerprint and the token are admitted.
func TestWireServeSecured(t *testing.T) {
	t.Parallel()
	_, line := startWireServe(t, "--addr", "127.0.0.1:0", "--tls", "--token", "sesame")
	address, fingerprint, ok := strings.Cut(line, " ")
	if !ok || len(fingerprint) != 64 {
		t.Fatalf("it says %q", line)
	}
	if r, stderr, err := bench(t, "--addr", address, "--pin", fingerprint, "--token", "sesame"); err != nil || r.Ops != 1 {
		t.Errorf("%v: %s", err, stderr)
	}
	for _, args := range [][]string{
		{"--pin", fingerprint, "--token", "barley"},
		{"--pin", fingerprint},
		{"--pin", strings.Repeat("0", 64), "--token", "sesame"},
		{"--tls", "--token", "sesame"},
		{"--token", "sesame"},
	} {
		if _, stderr, err := bench(t, append(args, "--addr", address)...); err == nil {
			t.Errorf("let in with %v: %s", args, stderr)
		}
	}
}

// Ctrl-C ends a run with the measurements so far, and its server with it.
func TestBenchWireInterrupted(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	cmd := programFor(t, wireTestTimeout, "bench", "wire", "--do", "verify", "--count", "1000000000", "--journal", journal)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(wireTestTimeout); ; <-time.After(5 * time.Millisecond) {
		if info, err := os.Stat(journal); err == nil && info.Size() > 10_000 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is acknowledged")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFailure {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(out.String(), "\ninterrupted: ") || !strings.Contains(log.String(), "error: interrupted: ") {
		t.Errorf("it printed\n%s\n%s", out.String(), log.String())
	}
	if strings.Contains(out.String(), "\nfailed: ") {
		t.Errorf("calls that were interrupted count as failed:\n%s", out.String())
	}
}
