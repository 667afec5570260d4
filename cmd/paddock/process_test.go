package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// processTimeout ends a test whose process hangs.
const processTimeout = time.Minute

// program is ours as a process, which ends with the test. It is the plain one: commands that ask
// a service have one goroutine, and a process that is killed cannot report races.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return programFor(t, processTimeout, args...)
}

// programFor is program for a process that may take that long.
func programFor(t *testing.T, timeout time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, plain(t), args...)
}

// daemon is a program that serves. It has the race detector if the tests have it, whose findings
// are in its exit code.
func daemon(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, "paddock", args...)
}

// startOf starts a process, which ends with the test at the latest.
func startOf(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error if it has ended
		_ = cmd.Wait()         // an error if the test has waited
	})
}

// outcomeOf runs the program to its end.
func outcomeOf(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return outcomeFor(t, processTimeout, args...)
}

// outcomeFor is outcomeOf for a run that may take that long.
func outcomeFor(t *testing.T, timeout time.Duration, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := programFor(t, timeout, args...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), log.String()
}

// ending is how the program ends: with a code, and these words on either output.
type ending struct {
	name, args string
	code       int
	want       string
}

// checkEndings runs a command to each end, with more arguments behind those of the ending.
func checkEndings(t *testing.T, command, more string, endings []ending) {
	t.Helper()
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) {
			code, stdout, stderr := outcomeOf(t, strings.Fields(command+" "+e.args+" "+more)...)
			if code != e.code || !strings.Contains(stdout+stderr, e.want) {
				t.Errorf("code %d, want %d and %q:\n%s%s", code, e.code, e.want, stdout, stderr)
			}
		})
	}
}

// httpProcess is a running service, such as `paddock fence`. One goroutine reads its log and
// ends with it.
type httpProcess struct {
	*exec.Cmd
	addr string
	log  chan map[string]any // closed at the end of the log; holds every line that a test can make
}

// startServing starts a service that listens for HTTP, and returns when it is ready. It ends
// with the test.
func startServing(t *testing.T, cmd *exec.Cmd) *httpProcess {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &httpProcess{Cmd: cmd, log: make(chan map[string]any, 1000)}
	go p.readLog(stderr)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error if it has ended
		p.drainLog()
		_ = cmd.Wait() // an error if the test has waited
	})
	url, _ := p.waitFor(t, "listening")["url"].(string)
	p.addr = strings.TrimPrefix(url, "http://")
	p.waitFor(t, "ready")
	return p
}

func (p *httpProcess) readLog(stderr io.Reader) {
	defer close(p.log)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var record map[string]any
		if json.Unmarshal(lines.Bytes(), &record) != nil {
			record = map[string]any{"msg": lines.Text()}
		}
		p.log <- record
	}
}

// drainLog returns at the end of the log, after which the process can be waited
// for.
func (p *httpProcess) drainLog() {
	for range p.log {
	}
}

// waitFor returns the next record of the log with this message.
func (p *httpProcess) waitFor(t *testing.T, msg string) map[string]any {
	t.Helper()
	limit := time.NewTimer(processTimeout)
	defer limit.Stop()
	for {
		select {
		case record, ok := <-p.log:
			if !ok {
				t.Fatalf("the log ended before %q", msg)
			}
			if record["msg"] == msg {
				return record
			}
		case <-limit.C:
			t.Fatalf("no %q in the log", msg)
		}
	}
}

func (p *httpProcess) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *httpProcess) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.addr, processTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(processTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}
