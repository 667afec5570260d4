package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/durable"
	"paddock/lab/internal/results"
)

// durableCmd measures the platform's journal. docs/guides/bench-durable.md is its guide.
type durableCmd struct {
	durable.Options
	reportFlags `embed:""`
}

// reportFlags say where the report of a measurement of platforms goes.
type reportFlags struct {
	JSON    bool   `name:"json" help:"Print the report as an object."`
	Summary string `type:"path" placeholder:"FILE" help:"Write the report to this file besides, as docs/results keeps it."`
	Quiet   bool   `short:"q" help:"Show nothing while it runs."`
}

// Help describes the setup.
func (*durableCmd) Help() string {
	return `Two platforms are started as processes of this program, on loopback: one keeps a journal below --dir, the other one runs with --data off. They take turns, and each round begins with another one. Between the requests of the HTTP turns a write of 4 KiB with fdatasync is measured on the same disk. Positions move; they go over wire in the fixed layout, and each is acknowledged.

Then platforms of the numbers of objects of --recover are killed and started again. docs/guides/bench-durable.md explains each line of the report.

Exit codes: 0 measured, 1 a failure of this side, 2 usage, 130 interrupted; what was measured until then is printed.

    paddock bench durable
    paddock bench durable --sets DIR --rounds 3 -d 2s --recover 100000
    paddock bench durable --dir /mnt/nvme -c 4 --json`
}

// The bounds of the flags keep a typing error from filling the machine.
const (
	maxDurableRounds  = 1000
	maxDurableObjects = 5_000_000
	maxDurableConns   = 1000
	maxDurableBatch   = 10_000
	maxDurableWindow  = 1000
)

// countFlag is a flag with a number from 1 to most.
type countFlag struct {
	name    string
	n, most int
}

// checkCounts refuses numbers out of their bounds.
func checkCounts(flags ...countFlag) error {
	for _, f := range flags {
		if f.n < 1 || f.n > f.most {
			return fmt.Errorf("%s %d: want 1 to %d", f.name, f.n, f.most)
		}
	}
	return nil
}

// check refuses invalid flags before anything starts.
func (b *durableCmd) check() error {
	if err := checkCounts(
		countFlag{"--rounds", b.Rounds, maxDurableRounds},
		countFlag{"--objects", b.Objects, maxDurableObjects},
		countFlag{"--conns", b.Conns, min(maxDurableConns, max(1, b.Objects))},
		countFlag{"--batch", b.Batch, maxDurableBatch},
		countFlag{"--window", b.Window, maxDurableWindow},
	); err != nil {
		return err
	}
	if b.Duration < 100*time.Millisecond || b.Duration > 10*time.Minute {
		return fmt.Errorf("--duration %v: want 100ms to 10m", b.Duration)
	}
	for _, n := range b.Recovery {
		if n < 0 || n > maxDurableObjects || n == 0 && len(b.Recovery) > 1 {
			return fmt.Errorf("--recover %d: want 1 to %d, or 0 alone", n, maxDurableObjects)
		}
		if n > 0 && n < b.Conns {
			return fmt.Errorf("--recover %d: fewer objects than connections", n)
		}
	}
	return nil
}

// directory returns the directory for temporary files: that of --dir, or the user's cache.
func directory(dir string) (string, error) {
	if dir != "" {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("not a directory")
		}
		if err != nil {
			return "", usagef("--dir %s: %w", dir, err)
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", usagef("no directory to measure: give --dir: %w", err)
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// Run measures and prints the report.
func (b *durableCmd) Run(ctx context.Context, c *Console) error {
	if err := b.check(); err != nil {
		return usageError(err)
	}
	if len(b.Recovery) == 1 && b.Recovery[0] == 0 {
		b.Recovery = nil
	}
	return c.onPlatforms(ctx, &b.Setup, b.Quiet, func(ctx context.Context) error {
		report, err := durable.Run(ctx, b.Options)
		if len(report.Feeds) > 0 {
			err = errors.Join(err, c.printAndKeep(report, &b.reportFlags))
		}
		return err
	})
}

// onPlatforms completes a setup, and calls measure with a context that ends with an interrupt.
func (c *Console) onPlatforms(ctx context.Context, s *doors.Setup, quiet bool, measure func(context.Context) error) (err error) {
	s.Progress = c.Stderr
	if quiet {
		s.Progress = io.Discard
	}
	if s.Program, err = os.Executable(); err != nil {
		return err
	}
	if s.Dir, err = directory(s.Dir); err != nil {
		return err
	}
	var remove func() error
	if s.Sets, remove, err = townUnless(s.Sets); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process
	err = measure(ctx)
	if ctx.Err() != nil {
		return interruptedError(errors.New("interrupted"))
	}
	return err
}

// printAndKeep prints a report, and writes it to the file of --summary.
func (c *Console) printAndKeep(r result, f *reportFlags) error {
	if err := c.print(r, f.JSON); err != nil || f.Summary == "" {
		return err
	}
	return writeSummary(f.Summary, r)
}

// writeSummary writes a file as docs/results keeps it.
func writeSummary(name string, report any) error {
	return writeTo(name, func(w io.Writer) error { return results.Write(w, report) })
}
