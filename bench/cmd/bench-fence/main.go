// Command bench-fence compares the indexes of package fence with those of other
// programs, and `paddock fence` with nginx; `bench-fence --list` names the goals.
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

	"paddock/bench/internal/fencebench"
	"paddock/bench/internal/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-fence: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-fence-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's workers run as another user
		return err
	}
	bench := &fencebench.Bench{Dir: dir}
	program := &harness.Program{
		Name:   "bench-fence",
		Goals:  fencebench.Goals,
		Peers:  fencebench.Peers,
		Rounds: 5, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Data, "data", "", "directory of GeoJSON files with fences and positions; without it the simulated city")
			flags.StringVar(&bench.Paddock, "paddock", filepath.Join(filepath.Dir(self), "paddock"), "the program of ours")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program to compare HTTP with")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "the program that loads both")
		},
		Describe: bench.Describe,
		Measure:  bench.Measure,
	}
	return program.Run(ctx, args[1:], stdout, stderr)
}
