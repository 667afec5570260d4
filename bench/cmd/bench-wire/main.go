// Command bench-wire compares wire with what else carries messages between two
// processes. It runs itself again as each contender's server; `bench-wire --list`
// names the goals and contenders.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"paddock/bench/internal/harness"
	"paddock/bench/internal/peers"
	"paddock/bench/internal/wirebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-wire: %v\n", err)
		os.Exit(1)
	}
}

// run is the program. args[0] is the program to run again as the server.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 1 && args[1] == "serve" {
		return serve(args[2:], stdin, stdout)
	}
	if len(args) > 2 && args[1] == "relay" {
		signal.Ignore(os.Interrupt) // as serve
		return wirebench.ServeRelay(args[2], stdin, stdout)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return program(self).Run(ctx, args[1:], stdout, stderr)
}

// serve is the server's process: serve PEER [tls].
func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	// An interrupt of the terminal goes to both processes; this one lives as
	// long as its input.
	signal.Ignore(os.Interrupt)
	if len(args) == 0 {
		return errors.New("serve: which peer?")
	}
	peer, err := peers.Find(args[0])
	if err != nil {
		return err
	}
	return wirebench.Serve(peer, len(args) > 1 && args[1] == "tls", stdin, stdout)
}

// program is the comparison, with self to run again as the servers.
func program(self string) *harness.Program {
	listed := make([]harness.Listed, len(peers.All()))
	for i, p := range peers.All() {
		listed[i] = harness.Listed{Name: p.Name, About: p.About}
	}
	processes := &wirebench.Processes{
		Serve: func(peer string, tls bool) []string {
			if tls {
				return []string{self, "serve", peer, "tls"}
			}
			return []string{self, "serve", peer}
		},
		Relay: func(addr string) []string { return []string{self, "relay", addr} },
	}
	return &harness.Program{
		Name:   "bench-wire",
		Goals:  wirebench.Goals,
		Peers:  listed,
		Rounds: 5, Duration: time.Second, Warmup: 250 * time.Millisecond,
		Measure: processes.Measure,
	}
}
