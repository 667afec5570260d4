package cli

import "fmt"

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
