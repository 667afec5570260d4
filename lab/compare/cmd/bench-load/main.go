// Command bench-load compares `paddock bench http` with other load generators and with known
// results; `bench-load --list` names the goals.
package main

import (
	"context"
	"flag"
	"io"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/http/loadbench"
)

func main() { programs.Main("bench-load", run) }

// run makes the comparison, or is one of the compared publishers.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == loadbench.PublishCommand {
		return loadbench.Publish(args[1:], stdout)
	}
	return program().Run(ctx, args, stdout, stderr)
}

func program() *harness.Program {
	bench := &loadbench.Bench{Self: programs.Self()}
	return &harness.Program{
		Name:   "bench-load",
		Goals:  loadbench.Goals,
		Peers:  loadbench.Peers,
		Rounds: 6, Duration: 5 * time.Second, Warmup: 500 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", programs.Beside("paddock"), "the program of ours")
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
