package main

import (
	"errors"
	"fmt"

	"paddock/internal/platform"
)

// checkCmd verifies what a stopped platform keeps.
type checkCmd struct {
	Data   string `placeholder:"DIR" help:"The data directory (default as for up)."`
	Replay bool   `required:"" help:"Apply all kept records again, and compare events and states with the stored ones."`
	JSON   bool   `name:"json" help:"Print an object with records, positions, events, checkpoints, unstored_events, gaps and whole."`
}

// Run prints what was compared. Nothing is written.
func (k *checkCmd) Run(c *console) error {
	dir, err := dataDir(k.Data)
	if err != nil {
		return err
	}
	if dir == "" {
		return usageError{errors.New("--data off: there is nothing to check")}
	}
	log, err := c.LoggerOver("warn", "")
	if err != nil {
		return err
	}
	shown := c.progress()
	found, err := platform.Verify(dir, log, func(number, newest uint64) {
		shown.show("record %d of %d", number, newest)
	})
	shown.end()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if k.JSON {
		return c.printJSON(map[string]any{
			"records": found.Records, "positions": found.Positions, "events": found.Events,
			"checkpoints": found.Checkpoints, "whole": found.Whole, "unstored_events": found.Unstored, "gaps": found.Gaps,
		})
	}
	from := "the first record"
	if !found.Whole {
		from = "the older checkpoints"
	}
	fmt.Fprintf(c.Stdout, "%s: %d records from %s on give the same: %d positions, %d events, %d states compared\n",
		dir, found.Records, from, found.Positions, found.Events, found.Checkpoints)
	if found.Unstored > 0 {
		fmt.Fprintf(c.Stdout, "%d events of the last records are not stored yet, as after a crash: the next start stores them\n", found.Unstored)
	}
	if found.Gaps > 0 {
		fmt.Fprintf(c.Stdout, "events are lost in %d places, which was accepted\n", found.Gaps)
	}
	return nil
}
