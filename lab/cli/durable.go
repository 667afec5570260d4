package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"paddock/lab/internal/durable"
	"paddock/lab/internal/results"
)

// durableCmd measures the platform's journal. docs/guides/bench-durable.md is its guide.
type durableCmd struct {
	Dir  string `type:"path" placeholder:"DIR" help:"Directory on the disk to measure, for temporary files (default the user's cache directory, as the system's temporary one may be in memory)."`
	Sets string `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`

	Rounds   int           `placeholder:"N" default:"5" help:"Rounds, in each of which every contender has a turn (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"5s" help:"Length of a turn over wire; one over HTTP is a fifth of it (default ${default})."`
	Objects  int           `placeholder:"N" default:"10000" help:"Objects that report positions (default ${default})."`
	Conns    int           `short:"c" placeholder:"N" default:"2" help:"Connections (default ${default})."`
	Batch    int           `placeholder:"N" default:"1000" help:"Positions that are sent together (default ${default})."`
	Window   int           `placeholder:"N" default:"2" help:"Batches of a connection that are sent and not acknowledged (default ${default})."`
	Recover  []int         `placeholder:"N" default:"10000,100000,1000000" help:"Kill platforms that know so many objects, and start them again; 0 leaves that out (default ${default})."`

	Bus     string `placeholder:"URL" help:"NATS servers with the log of a cluster, from paddock cluster init: its only node is measured too."`
	Peer    string `type:"path" placeholder:"FILE" help:"The program tile38-server (default that of PATH, if it is there)."`
	Profile string `type:"path" placeholder:"FILE" help:"Write a profile of the processor time of the first round: of the node with --bus, else of the platform with a journal."`
	JSON    bool   `name:"json" help:"Print the report as an object."`
	Summary string `type:"path" placeholder:"FILE" help:"Write the report to this file besides, as docs/results keeps it."`
	Quiet   bool   `short:"q" help:"Show nothing while it runs."`
}

// Help describes the setup.
func (*durableCmd) Help() string {
	return `Two platforms are started as processes of this program, on loopback: one keeps a journal below --dir, the other one runs with --data off. They take turns, each round begins with another one, and before each turn a write of 4 KiB with fdatasync is measured on the same disk. Positions move; they go over wire in the fixed layout, and each is acknowledged.

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
	for _, n := range b.Recover {
		if n < 0 || n > maxDurableObjects || n == 0 && len(b.Recover) > 1 {
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
	o := durable.Options{
		Rounds: b.Rounds, Duration: b.Duration, Objects: b.Objects, Conns: b.Conns,
		Batch: b.Batch, Window: b.Window, Recovery: b.Recover, Bus: b.Bus, Peer: b.Peer, Profile: b.Profile,
	}
	if len(b.Recover) == 1 && b.Recover[0] == 0 {
		o.Recovery = nil
	}
	return c.onPlatforms(ctx, b.Sets, b.Dir, b.Quiet, func(ctx context.Context, at surroundings) error {
		o.Program, o.Dir, o.Sets, o.Progress = at.program, at.dir, at.sets, at.progress
		report, err := durable.Run(ctx, o)
		if len(report.Feeds) > 0 {
			err = errors.Join(err, c.printAndKeep(report, b.JSON, b.Summary))
		}
		return err
	})
}

// surroundings are what a measurement of platforms needs.
type surroundings struct {
	program   string // that has the command up
	dir, sets string
	progress  io.Writer
}

// onPlatforms calls measure with a context that ends with an interrupt. sets "" is the simulated
// city, and dir "" the user's cache.
func (c *Console) onPlatforms(ctx context.Context, sets, dir string, quiet bool, measure func(context.Context, surroundings) error) (err error) {
	at := surroundings{progress: c.Stderr}
	if quiet {
		at.progress = io.Discard
	}
	if at.program, err = os.Executable(); err != nil {
		return err
	}
	if at.dir, err = directory(dir); err != nil {
		return err
	}
	var remove func() error
	if at.sets, remove, err = townUnless(sets); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process
	err = measure(ctx, at)
	if ctx.Err() != nil {
		return interruptedError(errors.New("interrupted"))
	}
	return err
}

// printAndKeep prints a report, and writes it to the file summary too, unless that is "".
func (c *Console) printAndKeep(r result, asObject bool, summary string) error {
	if err := c.print(r, asObject); err != nil || summary == "" {
		return err
	}
	return writeSummary(summary, r)
}

// writeSummary writes a file as docs/results keeps it.
func writeSummary(name string, report any) error {
	return writeTo(name, func(w io.Writer) error { return results.Write(w, report) })
}
