// Command bench-wire compares wire with other ways to carry messages between two processes. It runs
// itself again as each contender's server; `bench-wire --list` names the goals and contenders.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/wire/peers"
	"paddock/lab/compare/internal/wire/wirebench"
)

func main() { programs.Main("bench-wire", run) }

// run is the comparison, or one of the processes that it starts:
//
//	serve PEER [tls]
//	relay ADDR
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) > 0 && args[0] == "serve":
		ignoreInterrupts()
		return serve(args[1:], stdout)
	case len(args) > 1 && args[0] == "relay":
		ignoreInterrupts()
		return wirebench.ServeRelay(args[1], os.Stdin, stdout)
	}
	return program().Run(ctx, args, stdout, stderr)
}

// ignoreInterrupts is for a process that lives as long as its input: an interrupt of the
// terminal goes to all of them.
func ignoreInterrupts() { signal.Ignore(os.Interrupt) }

func serve(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("serve: which peer?")
	}
	peer, err := peers.Find(args[0])
	if err != nil {
		return err
	}
	return wirebench.Serve(peer, len(args) > 1 && args[1] == "tls", os.Stdin, stdout)
}

func program() *harness.Program {
	listed := make([]harness.Listed, len(peers.All()))
	for i, p := range peers.All() {
		listed[i] = harness.Listed{Name: p.Name, About: p.About}
	}
	processes := &wirebench.Processes{
		Serve: func(peer string, tls bool) []string {
			if tls {
				return []string{programs.Self(), "serve", peer, "tls"}
			}
			return []string{programs.Self(), "serve", peer}
		},
		Relay: func(addr string) []string { return []string{programs.Self(), "relay", addr} },
	}
	return &harness.Program{
		Name:   "bench-wire",
		Goals:  wirebench.Goals,
		Peers:  listed,
		Rounds: 5, Duration: time.Second, Warmup: 250 * time.Millisecond,
		Measure: processes.Measure,
	}
}
