// Command bench-load compares `paddock bench http` with other load generators, and holds it
// against what is known; `bench-load --list` names the goals.
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

	"paddock/bench/internal/harness"
	"paddock/bench/internal/loadbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-load: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's workers run as another user
		return err
	}
	bench := &loadbench.Bench{Dir: dir}
	program := &harness.Program{
		Name:   "bench-load",
		Goals:  loadbench.Goals,
		Peers:  loadbench.Peers,
		Rounds: 6, Duration: 5 * time.Second, Warmup: 500 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", filepath.Join(filepath.Dir(self), "paddock"), "the program of ours")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "a program to compare with")
			flags.StringVar(&bench.Ab, "ab", "ab", "a program to compare with")
			flags.StringVar(&bench.Hey, "hey", "hey", "a program to compare with")
			flags.StringVar(&bench.Oha, "oha", "oha", "a program to compare with")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program that serves a file")
			flags.DurationVar(&bench.Memory, "memory", time.Minute, "length of the run whose memory is watched")
		},
		Describe: bench.Describe,
		Measure:  bench.Measure,
	}
	return program.Run(ctx, args[1:], stdout, stderr)
}
