// Package cli holds the commands of `paddock bench`. Package main mounts Bench into its
// command line, and binds a Console for the Run methods.
//
// Each command has a file of its own, named after it. The commands that make load at a rate or over
// connections share the flags and the exit codes of load.go.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"paddock/lab/internal/persona/getopt"
	"paddock/lab/internal/results"
	"paddock/lab/internal/runfile"
	"paddock/lab/internal/scenario"
)

// Bench holds the commands that measure.
type Bench struct {
	HTTP      httpCmd      `cmd:"" name:"http" help:"Measure a service that speaks HTTP."`
	AB        abCmd        `cmd:"" name:"ab" passthrough:"" help:"Measure a service over HTTP as ApacheBench does: its flags, its report, and the truth behind it."`
	NATS      natsCmd      `cmd:"" name:"nats" help:"Measure a NATS server, and verify what it delivers."`
	Wrk       wrkCmd       `cmd:"" passthrough:"" help:"Measure a service with the flags, scripts and text of wrk, and the truth beside it."`
	Wire      wireCmd      `cmd:"" help:"Measure the wire protocol, or verify what it carries."`
	Fence     fenceCmd     `cmd:"" help:"Measure look-ups of a fence service: over HTTP, wire or the bus, or by kinds of index."`
	Durable   durableCmd   `cmd:"" help:"Measure the platform's journal: the disk, positions a second with it and without it, starts after kill -9."`
	Sizing    sizingCmd    `cmd:"" help:"Measure what fleets of several sizes need: processors, memory, disk."`
	Track     trackCmd     `cmd:"" help:"Measure the tracker: false events, delays and positions a second of its policies."`
	Profile   profileCmd   `cmd:"" help:"Show where the time of \"paddock fence\" goes, as gofence's table does."`
	Tunnel    tunnelCmd    `cmd:"" help:"Measure the reverse tunnel with the loads of go-http-tunnel's benchmark."`
	Spike     spikeCmd     `cmd:"" help:"Make the load spike of go-http-tunnel's benchmark on a service."`
	Pressure  pressureCmd  `cmd:"" help:"Make the constant pressure of go-http-tunnel's benchmark on a service."`
	Worker    workerCmd    `cmd:"" help:"Make load for \"paddock bench http --workers\" of another machine."`
	Origins   originsCmd   `cmd:"" help:"Make the tables of five original benchmark documents again, beside the programs that they measured."`
	Sweep     sweepCmd     `cmd:"" help:"Measure a service over HTTP at several numbers of connections, or rates: its scalability and its knee."`
	Capacity  capacityCmd  `cmd:"" help:"Find the highest rate at which a service over HTTP meets objectives."`
	Report    reportCmd    `cmd:"" help:"Make one page, or one table, of the runs in directories."`
	Diff      diffCmd      `cmd:"" help:"Compare runs before and after a change, with intervals and exit codes."`
	Responder responderCmd `cmd:"" help:"Serve HTTP with response times that are known, to hold load generators against."`
}

// Document is the run.json of a run, and the output of --json.
type Document = runfile.Document

// Overload is the output of `paddock bench tunnel overload --json`.
type Overload = scenario.Overload

// Flags are the flags of a command that parses its arguments itself, as another program does.
type Flags = getopt.Flags

// Console is the environment of one command.
type Console struct {
	Stdin   io.Reader
	Stdout  io.Writer // results only: a script reads it
	Stderr  io.Writer // progress and errors
	Environ []string  // as of os.Environ
	Args    []string  // of the command line

	LogLevel string // the flag --log-level; "" = not given
}

// result is a report that people and programs can read.
type result interface {
	WriteText(w io.Writer) error
}

// print writes a result to the standard output, as an object or as text.
func (c *Console) print(r result, asObject bool) error {
	if asObject {
		return results.Write(c.Stdout, r)
	}
	return r.WriteText(c.Stdout)
}

// writeTo writes a file.
func writeTo(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// variable returns the value of an environment variable, or "". The last one counts.
func (c *Console) variable(name string) (value string) {
	for _, s := range c.Environ {
		if text, ok := strings.CutPrefix(s, name+"="); ok {
			value = text
		}
	}
	return value
}

// help prints the help page of a command of `paddock bench`.
func help(parser *kong.Kong, command string) error {
	ctx, err := kong.Trace(parser, []string{"bench", command})
	if err != nil {
		return err
	}
	return ctx.PrintUsage(false)
}

// interruptible returns a context that ends at an interrupt or SIGTERM. After release, these
// signals end the process, as they do by default.
func interruptible(ctx context.Context) (_ context.Context, release func()) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// The exit codes that a benchmark ends with, besides 0 and 1. They are part of the interface.
const (
	exitUsage      = 2
	exitMissed     = 3
	exitUnmeasured = 4
	exitForced     = 130
)

// exitError is an error that brings the exit code of the process.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// ExitCode returns the exit code of the process.
func (e exitError) ExitCode() int { return e.code }

// usageError returns err as a mistake in the command line, the environment or a file: nothing has
// been started, and another attempt cannot help.
func usageError(err error) error { return exitError{err, exitUsage} }

// usagef returns a mistake in the command line.
func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

// missedError returns err as a measurement that missed an objective.
func missedError(err error) error { return exitError{err, exitMissed} }

// unmeasuredError returns err as a measurement without figures, or with too few to judge by.
func unmeasuredError(err error) error { return exitError{err, exitUnmeasured} }

// interruptedError returns err as a measurement that a signal ended early.
func interruptedError(err error) error { return exitError{err, exitForced} }
