//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/bus"
	lab "paddock/lab/cli"
)

// broker is one for a test, and its address.
func broker(t *testing.T, config bus.Config) string {
	t.Helper()
	config.Port = -1
	s, err := bus.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s.Addr().String()
}

// Every kind of load, with its exit code and its message.
func TestBenchNATS(t *testing.T) {
	t.Parallel()
	open, closed := broker(t, bus.Config{}), broker(t, bus.Config{Token: "sesame", DenyPublish: []string{"no.>"}})
	checkEndings(t, "bench nats", "--allow-red -q", []ending{
		{"pub", "pub -n 500 -a " + open, 0, "500 sent, 500 answered"},
		{"pubsub", "pubsub --subs 3 -c 2 -n 400 -a " + open, 0, "400 published, 1,200 delivered, 0 lost, 0 doubled, 0 reordered"},
		{"queue", "pubsub --subs 3 --queue g -n 400 --rate 4000/s --slo rate>=0.1*target -a " + open, 0, "400 published, 400 delivered, 0 lost"},
		{"request", "request -n 400 -a " + open, 0, "400 sent, 400 answered"},
		{"nobody replies", "request --subs 0 -n 20 --slo err<1% -a " + open, 3, "503: 20"},
		{"refused", "pub --subject no.way -n 20 --slo err<1% --token sesame -a " + closed, 3, "Permissions Violation for Publish"},
		{"not let in", "pub -n 20 --token mellon -a " + closed, 4, "Authorization Violation"},
		{"nothing comes", "sub -d 10ms -a nats://" + open, 4, "no request was answered"},
	})
}

// A run's files count the fates of the messages, and contain no token.
func TestBenchNATSFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	code, _, stderr := outcomeOf(t, "bench", "nats", "pubsub", "-n", "300", "-q", "--allow-red", "--token", "s3cret", "--out", dir)
	if code != 0 {
		t.Fatal(code, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d lab.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Plan.Driver != "nats" || d.Messages == nil || d.Messages.Published != 300 || d.Messages.Delivered != 300 || d.Messages.Lost+d.Messages.Doubled+d.Messages.Reordered+d.Messages.Foreign != 0 || strings.Contains(string(text), "s3cret") {
		t.Errorf("%s", text)
	}
}
