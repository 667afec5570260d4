// Package client holds the commands that are clients of a running platform: each asks its HTTP
// interface, and prints the answer as a table for people or as JSON for programs.
//
// See docs/guides/command-line.md. A file is named after its command. A type embeds remote, whose
// flags name the platform and the key, and its Run method does the work.
package client

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Console holds the standard streams and the environment of one command line.
type Console struct {
	Stdin   io.Reader
	Stdout  io.Writer // results only, for scripts
	Stderr  io.Writer // logs, progress and errors
	Environ []string  // as of os.Environ

	// Logger returns a logger to Stderr from this level on, unless a flag names another one.
	Logger func(level string) (*slog.Logger, error)
}

// printJSON writes v to Stdout, indented.
func (c *Console) printJSON(v any) error {
	out := json.NewEncoder(c.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// printLine writes v to Stdout, on one line.
func (c *Console) printLine(v any) error {
	out := json.NewEncoder(c.Stdout)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// exitUsage is the exit code of a mistake in the command line or in a file that it names.
const exitUsage = 2

// usageError is such a mistake. Nothing has been changed, and a retry fails in the same way.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// ExitCode is the exit code of the program.
func (usageError) ExitCode() int { return exitUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
