// Command bench-bus compares paddock bus with nats-server. It starts each as a
// process of its own, from the programs beside this one, and loads them;
// `bench-bus --list` names the goals.
package main

import (
	"flag"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/busbench"
)

func main() { programs.Main("bench-bus", program().Run) }

func program() *harness.Program {
	bench, pinned := &busbench.Bench{}, false
	return &harness.Program{
		Name: "bench-bus",
		Goals: func() []harness.Goal {
			if pinned {
				return bench.Goals(harness.Crossed)
			}
			return bench.Goals("")
		},
		Peers:  busbench.Peers,
		Rounds: 10, Duration: time.Second, Warmup: 250 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.BoolVar(&pinned, "pinned", false, "bind the server to the first processor and the load to the second")
			flags.IntVar(&bench.IdleConns, "idle-conns", busbench.IdleConns, "how many connections the goal idle has")
			flags.StringVar(&bench.Paddock, "paddock", programs.Beside("paddock"), "the program of ours")
			flags.StringVar(&bench.NATSServer, "nats-server", programs.Beside("nats-server"), "the program to compare with")
		},
		Dir:     &bench.Dir,
		Measure: bench.Measure,
	}
}
