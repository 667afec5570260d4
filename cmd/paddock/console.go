package main

import (
	"io"
	"log/slog"

	"paddock/internal/process/logging"
)

// console is the outside world of one command line: what a command may read,
// write and log to. Commands take it instead of package os, so that a test can
// give them another.
type console struct {
	Stdin   io.Reader
	Stdout  io.Writer // results only: what a script would read
	Stderr  io.Writer // logs, progress and errors
	Environ []string  // as of os.Environ

	args  []string // of the command line; assigned once
	flags globals  // assigned once, after parsing
}

// Logger returns a logger to Stderr as --log-level and --log-format say.
func (c *console) Logger() (*slog.Logger, error) {
	return c.LoggerOver("", "")
}

// LoggerOver is Logger for a command with a configuration file: level and
// format come from there, and the flags go over them.
func (c *console) LoggerOver(level, format string) (*slog.Logger, error) {
	o, err := c.logOptions(level, format)
	if err != nil {
		return nil, err
	}
	return logging.New(c.Stderr, o), nil
}

// logOptions is what LoggerOver makes a logger of.
func (c *console) logOptions(level, format string) (logging.Options, error) {
	if c.flags.LogLevel != "" {
		level = c.flags.LogLevel
	}
	if c.flags.LogFormat != "" {
		format = c.flags.LogFormat
	}
	o, err := logging.Parse(level, format)
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}
