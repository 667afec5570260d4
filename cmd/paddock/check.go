package main

import (
	"context"
	"errors"
	"fmt"

	"paddock/internal/platform"
)

// checkCmd verifies a configuration, or what a stopped platform keeps.
type checkCmd struct {
	Config  string   `short:"c" type:"path" xor:"what" required:"" placeholder:"FILE" help:"Check this configuration file of up, and what it names."`
	Monitor []string `sep:"," placeholder:"URL" help:"With --config of a node of a cluster: the monitoring of its NATS servers, which tells whether they sync each message."`
	Replay  bool     `xor:"what" required:"" help:"Apply all kept records again, and compare events and states with the stored ones."`
	Data    string   `placeholder:"DIR" help:"With --replay: the data directory (default as for up)."`
	JSON    bool     `name:"json" help:"Print an object: with --replay of records, positions, events, checkpoints, unstored_events, gaps and whole; with --config of file, parts, each with its text and warnings, faults and unavailable."`
}

// Help describes the exit codes.
func (*checkCmd) Help() string {
	return `Nothing is started and nothing is written. With --config these are looked at: the file, certificates and their ends, whether the ports are free and the directories can be written, sets with their findings, rules, what the other sections name, whether the hosts of webhooks have addresses, the NATS servers of a cluster and its log, the limit of open files, and the clock. A port is taken for a moment; if a platform runs with the data directory, the ports are its own, and are not tried.

The exit codes of --config: 0 up starts with it, also with warnings, 1 it does not start now, such as with a port in use or a directory that cannot be written, 2 the configuration has a fault. All of them are told, each with its place.

    paddock check -c paddock.yaml
    paddock check -c paddock.yaml --monitor http://nats-1:8222,http://nats-2:8222
    paddock check --replay --data /var/lib/paddock`
}

// Run prints what was found. Nothing is written.
func (k *checkCmd) Run(ctx context.Context, c *console) error {
	if k.Replay {
		return k.replay(c)
	}
	if k.Data != "" {
		return usagef("--data is for --replay: with --config the file names it")
	}
	found := examineFile(ctx, c, k.Config, k.Monitor)
	if k.JSON {
		if err := c.printJSON(found); err != nil {
			return err
		}
		return found.err()
	}
	for _, p := range found.Parts {
		if p.Text != "" {
			fmt.Fprintf(c.Stdout, "%s: %s\n", p.Name, p.Text)
		}
		for _, w := range p.Warnings {
			fmt.Fprintf(c.Stderr, "paddock: warning: %s: %s\n", p.Name, w)
		}
	}
	if err := found.err(); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "%s: up starts with it\n", k.Config)
	return nil
}

// replay compares what is kept with what its records give.
func (k *checkCmd) replay(c *console) error {
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
		shown.Show("record %d of %d", number, newest)
	})
	shown.End()
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
