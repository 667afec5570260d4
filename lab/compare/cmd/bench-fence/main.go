// Command bench-fence compares the indexes of package fence with those of other
// programs, and `paddock fence` with nginx; `bench-fence --list` names the goals.
package main

import (
	"flag"
	"time"

	"paddock/lab/compare/internal/fencebench"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
)

func main() { programs.Main("bench-fence", program().Run) }

func program() *harness.Program {
	bench := &fencebench.Bench{}
	return &harness.Program{
		Name:   "bench-fence",
		Goals:  fencebench.Goals,
		Peers:  fencebench.Peers,
		Rounds: 5, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Data, "data", "", "directory of GeoJSON files with fences and positions; without it the simulated city")
			flags.StringVar(&bench.Paddock, "paddock", programs.Beside("paddock"), "the program of ours")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program to compare HTTP with")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "the program that loads both")
		},
		Dir:      &bench.Dir,
		Describe: bench.Describe,
		Measure:  bench.Measure,
	}
}
