// Package entry is how each program of the comparisons begins and ends.
package entry

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
)

// Main runs a program with the arguments behind its name. An interrupt or SIGTERM ends its
// context. An error is told on stderr, and makes the exit code 1, but for one that is
// [flag.ErrHelp]: then the flags have been listed.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Self is the path of the running program.
func Self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Beside is the path of a program in the folder of the running one.
func Beside(name string) string { return filepath.Join(filepath.Dir(Self()), name) }
