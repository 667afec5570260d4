//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	lab "paddock/lab/cli"
)

// replayed is the output of one of the commands with --json.
type replayed struct {
	Load, Target, Subject string
	Rows                  []struct {
		Rate                float64
		Requests, Succeeded int64
		P99                 int64 `json:"p99_ns"`
		Corrected           int64 `json:"p99_corrected_ns"`
		Original            map[string]any
		Response            struct{ Count int64 }
		Used                []struct {
			Name   string
			CPU    int64 `json:"cpu_ns"`
			Memory int64 `json:"max_resident_bytes"`
		}
	}
}

// replayOf runs a command for a part of a second at each rate.
func replayOf(t *testing.T, args ...string) (doc replayed) {
	t.Helper()
	cmd := program(t, append([]string{"bench"}, append(args, "-d", "300ms", "--warmup", "100ms", "--allow-red", "--json", "-q")...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return doc
}

// A tunnel is put up, asked for, measured and taken down, of each kind.
func TestBenchTunnel(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--tcp", "--size", "3.5kB"}} {
		doc := replayOf(t, append([]string{"tunnel", "spike", "--rate", "100,600", "-c", "16"}, args...)...)
		if doc.Load != "spike" || len(doc.Rows) != 2 {
			t.Fatalf("%+v", doc)
		}
		for i, row := range doc.Rows {
			if row.Requests < 20 || row.Succeeded != row.Requests || row.P99 == 0 || row.Corrected == 0 || row.Response.Count != row.Requests {
				t.Errorf("%v: %+v", args, row)
			}
			if (row.Original != nil) != (i == 1) {
				t.Errorf("the original has %v at %v/s", row.Original, row.Rate)
			}
			if len(row.Used) != 2 || row.Used[0].CPU == 0 || row.Used[1].Memory == 0 {
				t.Errorf("%v: %+v", args, row.Used)
			}
		}
	}
}

// The files are requested in turns, below the URL and with the given host; a failed request is no
// success, and an objective reports it.
func TestBenchPressure(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // guards asked
	asked := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Host+r.URL.Path]++
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "7") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	doc := replayOf(t, "pressure", s.URL+"/files/", "--corpus", "-H", "Host: page.example", "--rate", "1000", "-c", "8")
	row := doc.Rows[0]
	if doc.Load != "pressure" || !strings.Contains(doc.Subject, "184 files") || row.Requests < 200 || row.Succeeded > row.Requests*95/100 {
		t.Errorf("%+v", doc)
	}
	mu.Lock()
	if len(asked) != 184 || asked["page.example/files/183"] == 0 {
		t.Errorf("%d files were asked for: %v", len(asked), asked)
	}
	mu.Unlock()
	cmd := program(t, "bench", "spike", s.URL+"/7", "--rate", "100", "-d", "100ms", "--warmup", "10ms", "--slo", "err<=0", "--allow-red", "-q")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

// Under ten times its capacity a service gets requests at its capacity. Every other visitor is
// refused, with the time to come again. Afterwards server and client are back at their levels
// before the load. The same holds where a link of 20 Mbit/s is the bottleneck, and another tunnel
// is answered meanwhile.
func TestBenchTunnelOverload(t *testing.T) {
	if os.Getenv("PADDOCK_TEST_OVERLOAD") == "" {
		t.Skip("it waits for up to 20 s: make test-overload runs it")
	}
	for name, args := range map[string]string{"service": "--capacity 200 --times 10", "link": "--uplink 20 --times 4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			o := overloadOf(t, strings.Fields(args)...)
			if o.Failed > 0 || o.Unhinted > 0 || o.Served == 0 || o.Refused == 0 {
				t.Errorf("%+v", o)
			}
			for _, l := range o.Levels {
				// A resident set is another one with the race detector.
				if !l.AtRest() || strings.HasPrefix(l.Name, "accounted") && l.Peak > 96<<20 {
					t.Errorf("%+v", l)
				}
			}
			if b := o.Beside; (b != nil) != (name == "link") || b != nil && (b.Failed > 0 || b.Asked == 0) {
				t.Errorf("%+v", b)
			}
		})
	}
}

// overloadOf makes a short overload.
func overloadOf(t *testing.T, args ...string) (o lab.Overload) {
	t.Helper()
	cmd := program(t, append([]string{"bench", "tunnel", "overload", "-d", "1s", "-q", "--json"}, args...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output() // times may be missed, which is no error here
	if json.Unmarshal(out, &o) != nil {
		t.Fatalf("%v: %s%s", err, out, said.String())
	}
	return o
}
