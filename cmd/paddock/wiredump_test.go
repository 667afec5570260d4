package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/wire"
)

// TestWireDumpReadsBytes holds that a file and the standard input are taken as
// bytes.
func TestWireDumpReadsBytes(t *testing.T) {
	t.Parallel()
	capture := append([]byte(wire.Preface), wire.AppendFrame(nil, &wire.Frame{Type: wire.ACK, Count: 7})...)
	file := filepath.Join(t.TempDir(), "capture")
	if err := os.WriteFile(file, capture, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "       0  preface of version 1\n       8  ACK len=8 count=7\n"
	for _, args := range [][]string{{"wire", "dump"}, {"wire", "dump", file}} {
		var out, failures bytes.Buffer
		code := run(args, &console{Stdin: bytes.NewReader(capture), Stdout: &out, Stderr: &failures})
		if code != exitOK || out.String() != want || failures.Len() > 0 {
			t.Errorf("%v: code %d\n%s%s", args, code, &out, &failures)
		}
	}
}

// TestWireDumpRelay runs the relay as its users do.
func TestWireDumpRelay(t *testing.T) {
	t.Parallel()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "paddock", "wire", "dump", "--log-format", "json", "--relay", "127.0.0.1:0", target.Addr().String())
	var out bytes.Buffer
	cmd.Stdout = &out
	logs, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var listening struct{ Addr string }
	lines := bufio.NewReader(logs)
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &listening)
	}
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if _, err := lines.ReadBytes('\n'); err != nil { // it is ready: signals are handled
		t.Fatal(err)
	}
	near, err := net.Dial("tcp", listening.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := target.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if _, err := io.WriteString(near, wire.Preface); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(far, make([]byte, len(wire.Preface))); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.HasPrefix(text, "#1 ") || !strings.Contains(text, " -> preface of version 1\n") {
		t.Errorf("shown: %s", text)
	}
}
