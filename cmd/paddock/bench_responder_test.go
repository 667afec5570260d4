//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	lab "paddock/lab/cli"
)

// The responder answers by its law until a signal ends it, and then prints its counts.
func TestBenchResponder(t *testing.T) {
	t.Parallel()
	cmd := program(t, "bench", "responder", "delay", "20ms", "--size", "200")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(out)
	address, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, report, _ := outcome(t, "http://"+strings.TrimSpace(address), "-n", "8", "-c", "2", "--allow-red", "--json")
	var doc lab.Document
	if err := json.Unmarshal([]byte(report), &doc); err != nil {
		t.Fatalf("%v in %s", err, report)
	}
	if doc.Totals.Done != 8 || doc.Response.Min < int64(20*time.Millisecond) {
		t.Errorf("%d answers, the first after %v", doc.Totals.Done, time.Duration(doc.Response.Min))
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	did, err := in.ReadString('\n')
	if want := "8 requests on "; err != nil || !strings.HasPrefix(did, want) || !strings.Contains(did, ", 8 answers; late by ") {
		t.Errorf("%q, %v; want %q", did, err, want)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
