package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"paddock/internal/process/config"
)

// The exit codes. They are part of the interface: helpEpilogue documents them. Benchmarks also
// end with 3 and 4, see package lab/cli.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitForced  = 130
)

// usageError is a mistake in the command line, the environment or the configuration file. Nothing
// has been started, and a retry fails in the same way.
type usageError struct{ error }

// usagef returns an error for a command's Run that exits with 2.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func (e usageError) Unwrap() error { return e.error }
func (usageError) ExitCode() int   { return exitUsage }

// reportError prints an error and returns its exit code. An error may define its own code, as
// lifecycle.ErrForced does with 130. An error without a text is an outcome that the command has
// printed.
func reportError(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if err.Error() != "" {
		fmt.Fprintln(w, "paddock: error:", err)
	}
	var coder interface{ ExitCode() int }
	switch {
	case errors.As(err, &coder):
		return coder.ExitCode()
	case errors.Is(err, config.ErrInvalid):
		return exitUsage
	}
	return exitFailure
}

// withHint converts kong's error into a usage error that names the help page.
func withHint(err error) error {
	page := "paddock"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		page = parse.Context.Selected().FullPath()
	}
	return usagef("%w\nRun \"%s --help\" for usage.", err, page)
}
