package main

import (
	"os"
	"testing"

	"paddock/internal/arch"
)

// The house rules hold here too: lengths, names, package comments, no sleeping
// tests, no leaked goroutines, imports that point down.
func TestArchitecture(t *testing.T) {
	findings, err := arch.Check(os.DirFS("../.."), arch.Policy{
		Module: "paddock/bench",
		Base:   []string{"clients"}, // programs that know nothing of each other
		Leaves: map[string]string{
			"internal/built":    "programs of this tree, for tests",
			"internal/measure":  "what a measurement is made of",
			"internal/freeport": "a port on which nobody listens",
			"internal/ticker":   "ticks of microseconds",
		},
		Edges: map[string]string{
			"internal/drive -> internal/peers":         "an operation runs over a peer's session",
			"internal/wirebench -> internal/peers":     "a server's process serves a peer",
			"internal/wirebench -> internal/drive":     "a turn measures an operation",
			"internal/wirebench -> internal/harness":   "a comparison is goals for the harness",
			"internal/busbench -> internal/harness":    "a comparison is goals for the harness",
			"internal/busbench -> internal/natsload":   "a turn measures a load",
			"internal/fencebench -> internal/harness":  "a comparison is goals for the harness",
			"internal/fencebench -> internal/webload":  "a turn measures a load",
			"internal/loadbench -> internal/harness":   "a comparison is goals for the harness",
			"internal/loadbench -> internal/webload":   "nginx, and wrk's script",
			"internal/loadbench -> internal/webbench":  "paddock web beside nginx is one of the goals",
			"internal/tunnelbench -> internal/harness": "a comparison is goals for the harness",
			"internal/tunnelbench -> internal/webload": "a turn measures a load",
			"internal/webbench -> internal/harness":    "a comparison is goals for the harness",
			"internal/webbench -> internal/webload":    "a turn measures a load",
		},
		Unchecked: map[string]string{
			"internal/busdiff": "nats-server, which runs in the process, leaves goroutines behind",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}
