package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// sinkFile writes a configuration file with sinks.
func sinkFile(t *testing.T, dir, sinks string) string {
	t.Helper()
	file := filepath.Join(dir, "paddock.yaml")
	text := "http: {listen: '127.0.0.1:0'}\nbus: {listen: '127.0.0.1:0'}\nwire: {listen: '127.0.0.1:0'}\ntrack: {policy: raw, initial: enter}\nsinks:\n" + sinks
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A platform is killed again and again while it writes events to a file. In the end the file has
// every event as a whole line, in order, apart from some that come again behind a kill.
func TestFileSinkSurvivesKills(t *testing.T) {
	t.Parallel()
	dir, data := t.TempDir(), t.TempDir()
	file := sinkFile(t, dir, "  - {id: archive, file: {path: events.ndjson, max_bytes: 20KB, keep: 1000}}\n")
	begin := func() *upProcess { return startUp(t, "up", "-c", file, "--data", data) }
	p := begin()
	p.request(t, "PUT", "v1/sets/s", squareFeature)
	for range hookKills {
		ctx, stop := context.WithCancel(t.Context())
		enough := p.sent.Load() + 200
		var load sync.WaitGroup
		done := p.load(ctx, 2)
		load.Go(func() { done() })
		for p.sent.Load() < enough {
			p.request(t, "GET", "healthz", "")
		}
		_ = p.Process.Kill()
		stop()
		load.Wait()
		_ = p.Wait() // it was killed
		sent := p.sent.Load()
		p = begin()
		p.sent.Store(sent) // times ascend
	}
	for { // until the sink has all events
		var list struct {
			Sinks []struct{ State struct{ Lag int } }
		}
		if err := json.Unmarshal([]byte(p.request(t, "GET", "v1/sinks", "")), &list); err != nil {
			t.Fatal(err)
		}
		if list.Sinks[0].State.Lag == 0 {
			break
		}
	}
	want := sinkIDs(t, p.request(t, "GET", "v1/events?wait=0", ""))
	p.terminate(t)
	parts, err := filepath.Glob(filepath.Join(dir, "events-*.ndjson"))
	if err != nil || len(parts) == 0 {
		t.Errorf("the file was not rotated: %q, %v", parts, err)
	}
	var all strings.Builder
	for _, part := range append(parts, filepath.Join(dir, "events.ndjson")) {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	got := sinkIDs(t, all.String())
	repeats := len(got) - len(want)
	if once := firstOf(got); !slices.Equal(once, want) || repeats > hookKills*256 {
		t.Errorf("%d events, %d of them in the file in another order or number, %d repeats", len(want), len(once), repeats)
	}
}

// sinkIDs returns the ids of events, one JSON object a line.
func sinkIDs(t *testing.T, text string) (all []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e struct{ ID, Source string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, fmt.Sprint(e.ID, " ", e.Source))
	}
	return all
}

// firstOf returns the values without their repeats.
func firstOf(values []string) (once []string) {
	met := map[string]bool{}
	for _, v := range values {
		if !met[v] {
			met[v] = true
			once = append(once, v)
		}
	}
	return once
}
