package main

import (
	"errors"
	"fmt"
	"os"

	"paddock/cmd/paddock/output"
	"paddock/internal/platform"
)

// restoreCmd makes a data directory of a backup.
type restoreCmd struct {
	File string `arg:"" help:"The backup; - is standard input."`
	Data string `placeholder:"DIR" help:"The data directory (default as for up). It must not have a journal."`
}

// Run restores, and says how to go on.
func (r *restoreCmd) Run(c *console) error {
	dir, err := dataDir(r.Data)
	if err != nil {
		return err
	}
	if dir == "" {
		return usageError{errors.New("--data off: name the directory to restore into")}
	}
	in := c.Stdin
	if r.File != "-" {
		f, err := os.Open(r.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	shown := c.progress()
	defer shown.End()
	if err := platform.Restore(&output.Reader{Reader: in, To: shown, Verb: "read"}, dir); err != nil {
		return fmt.Errorf("%s: %w", r.File, err)
	}
	shown.End()
	fmt.Fprintf(c.Stdout, "restored into %s; start it with: paddock up --data %s\n", dir, dir)
	return nil
}
