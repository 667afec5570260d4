// Command bench-web compares `paddock web` with nginx; `bench-web --list` names the
// goals.
package main

import (
	"flag"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/http/webbench"
)

func main() { programs.Main("bench-web", program().Run) }

func program() *harness.Program {
	bench := &webbench.Bench{}
	return &harness.Program{
		Name:   "bench-web",
		Goals:  webbench.Goals,
		Peers:  webbench.Peers,
		Rounds: 10, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", programs.Beside("paddock"), "the program of ours")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program to compare with")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "the program that loads both")
		},
		Dir:     &bench.Dir,
		Measure: bench.Measure,
	}
}
