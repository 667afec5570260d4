// Command bench-load compares `paddock bench http` with other load generators, and holds it
// against what is known; `bench-load --list` names the goals.
package main

import (
	"flag"
	"time"

	"paddock/bench/internal/entry"
	"paddock/bench/internal/harness"
	"paddock/bench/internal/loadbench"
)

func main() { entry.Main("bench-load", program().Run) }

func program() *harness.Program {
	bench := &loadbench.Bench{}
	return &harness.Program{
		Name:   "bench-load",
		Goals:  loadbench.Goals,
		Peers:  loadbench.Peers,
		Rounds: 6, Duration: 5 * time.Second, Warmup: 500 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", entry.Beside("paddock"), "the program of ours")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "a program to compare with")
			flags.StringVar(&bench.Ab, "ab", "ab", "a program to compare with")
			flags.StringVar(&bench.Hey, "hey", "hey", "a program to compare with")
			flags.StringVar(&bench.Oha, "oha", "oha", "a program to compare with")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program that serves a file")
			flags.DurationVar(&bench.Memory, "memory", time.Minute, "length of the run whose memory is watched")
		},
		Dir:      &bench.Dir,
		Describe: bench.Describe,
		Measure:  bench.Measure,
	}
}
