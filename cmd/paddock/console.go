package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"

	"paddock/cmd/paddock/output"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/logging"
	"paddock/internal/process/notify"
)

// console holds the standard streams, the environment and the logger of one command line. Commands
// use it instead of package os, so that a test can replace it.
type console struct {
	Stdin   io.Reader
	Stdout  io.Writer // results only, for scripts
	Stderr  io.Writer // logs, progress and errors
	Environ []string  // as of os.Environ

	args  []string // of the command line; assigned once
	flags globals  // assigned once, after parsing
}

// printJSON writes v to Stdout, indented.
func (c *console) printJSON(v any) error {
	out := json.NewEncoder(c.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// progress shows on a terminal how far a command is.
func (c *console) progress() *output.Progress { return output.NewProgress(c.Stderr) }

// manager returns the service manager that has started the process, or nil.
func (c *console) manager() (*notify.Manager, error) {
	m, err := notify.Open(c.Environ, os.Getpid())
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// reloads takes SIGHUP over for a service that reads files again.
func (c *console) reloads() (*lifecycle.Reloads, error) {
	m, err := c.manager()
	if err != nil {
		return nil, err
	}
	return lifecycle.NewReloads(m), nil
}

// Logger returns a logger to Stderr with the level and the format of the flags.
func (c *console) Logger() (*slog.Logger, error) {
	return c.LoggerOver("", "")
}

// LoggerOver is Logger for a command with a configuration file, which sets level and format. The
// flags override them.
func (c *console) LoggerOver(level, format string) (*slog.Logger, error) {
	o, err := c.logOptions(level, format)
	if err != nil {
		return nil, err
	}
	return logging.New(c.Stderr, o), nil
}

// logOptions returns the options of LoggerOver's logger.
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
