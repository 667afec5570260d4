// Command bench-web compares `paddock web` with nginx; `bench-web --list` names the
// goals.
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
	"paddock/bench/internal/webbench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-web: %v\n", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-web-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // nginx's workers run as another user
		return err
	}
	bench := &webbench.Bench{Dir: dir}
	program := &harness.Program{
		Name:   "bench-web",
		Goals:  webbench.Goals,
		Peers:  webbench.Peers,
		Rounds: 10, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&bench.Paddock, "paddock", filepath.Join(filepath.Dir(self), "paddock"), "the program of ours")
			flags.StringVar(&bench.Nginx, "nginx", "nginx", "the program to compare with")
			flags.StringVar(&bench.Wrk, "wrk", "wrk", "the program that loads both")
		},
		Measure: bench.Measure,
	}
	return program.Run(ctx, args[1:], stdout, stderr)
}
