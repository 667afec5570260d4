// Command bench-tunnel compares the tunnel of ours with rathole and OpenSSH; `bench-tunnel
// --list` names the goals.
package main

import (
	"flag"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/tunnel/tunnelbench"
)

func main() { programs.Main("bench-tunnel", program().Run) }

func program() *harness.Program {
	bench := &tunnelbench.Bench{}
	return &harness.Program{
		Name:   "bench-tunnel",
		Goals:  tunnelbench.Goals,
		Peers:  tunnelbench.Peers,
		Rounds: 7, Duration: 4 * time.Second, Warmup: time.Second,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", programs.Beside("paddock"), "the program of ours")
			flags.StringVar(&bench.Rathole, "rathole", "rathole", "a program to compare with")
			flags.StringVar(&bench.SSH, "ssh", "ssh", "a program to compare with")
			flags.StringVar(&bench.SSHD, "sshd", "/usr/sbin/sshd", "its server")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program that serves files")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "the program that asks for them")
		},
		Dir:      &bench.Dir,
		Describe: bench.Describe,
		Measure:  bench.Measure,
	}
}
