// Command bench-bus compares paddock bus with nats-server. It starts each as a
// process of its own, from the programs beside this one, and loads them;
// `bench-bus --list` names the goals.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"paddock/bench/internal/busbench"
	"paddock/bench/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-bus: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-bus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bench, pinned := &busbench.Bench{Dir: dir}, false
	program := &harness.Program{
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
			beside := func(name string) string { return filepath.Join(filepath.Dir(self), name) }
			flags.BoolVar(&pinned, "pinned", false, "bind the server to the first processor and the load to the second")
			flags.IntVar(&bench.IdleConns, "idle-conns", busbench.IdleConns, "how many connections the goal idle has")
			flags.StringVar(&bench.Paddock, "paddock", beside("paddock"), "the program of ours")
			flags.StringVar(&bench.NATSServer, "nats-server", beside("nats-server"), "the program to compare with")
		},
		Measure: bench.Measure,
	}
	return program.Run(ctx, args[1:], stdout, stderr)
}
