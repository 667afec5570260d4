package perf_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"paddock/lab/perf"
)

// The row of 11,474 ns of gofast's table: its count and its time give its figure.
func TestWriteOriginal(t *testing.T) {
	r := &perf.Report{
		Options: perf.Options{Do: perf.Post, Count: 1_000_000, Conns: 1, Routines: 1},
		Ops:     1_000_000, Elapsed: 12_900 * time.Millisecond, Latency: perf.Latency{N: 1_000_000, Mean: 11_474},
		Stats: map[string]int64{"n_txpost": 1_000_012},
	}
	var b strings.Builder
	if err := r.WriteOriginal(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Latency Average: 11.474µs\n", "Throughput: 83334 /second\n", `  "n_txpost":1000012` + "\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in\n%s", line, b.String())
		}
	}
	// Row 6: 1,000,101 requests in 14 seconds.
	r.Options, r.Elapsed = perf.Options{Do: perf.Request, Count: 1_000_000, Conns: 1, Routines: 100}, 14*time.Second
	b.Reset()
	if err := r.WriteOriginal(&b); err != nil || !strings.Contains(b.String(), "Throughput: 71435\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	r.Elapsed = 999 * time.Millisecond
	if err := r.WriteOriginal(&b); !errors.Is(err, perf.ErrTooShort) {
		t.Errorf("a run of less than a second: %v", err)
	}
}
