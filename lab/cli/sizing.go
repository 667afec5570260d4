package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/sizing"
)

// sizingCmd measures what fleets need. docs/start/sizing.md shows its figures.
type sizingCmd struct {
	Dir  string `type:"path" placeholder:"DIR" help:"Directory on the disk to measure, for temporary files (default the user's cache directory, as the system's temporary one may be in memory)."`
	Sets string `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`

	Vehicles    []int           `placeholder:"N" default:"1000,10000,100000,1000000" help:"Sizes of fleets (default ${default})."`
	Every       []time.Duration `placeholder:"TIME" default:"10s,1s" help:"Times between two positions of a vehicle (default ${default})."`
	Door        []string        `placeholder:"DOOR" default:"wire,http" complete:"wire,http" help:"Interfaces: wire, batches as of a gateway, or http, a position a request as of a phone (default ${default})."`
	Duration    time.Duration   `short:"d" placeholder:"DURATION" default:"10s" help:"Length of each load (default ${default})."`
	Subscribers []int           `placeholder:"N" default:"10,100" help:"Streams of all events, beside the smaller fleet of the middle; 0 leaves that out (default ${default})."`
	Day         int             `placeholder:"N" default:"50" help:"Vehicles whose day is stored, to measure the disk; 0 leaves that out (default ${default})."`

	JSON    bool   `name:"json" help:"Print the report as an object."`
	Summary string `type:"path" placeholder:"FILE" help:"Write the report to this file besides, as docs/results keeps it."`
	Quiet   bool   `short:"q" help:"Show nothing while it runs."`
}

// Help describes the setup.
func (*sizingCmd) Help() string {
	return `For each size a platform is started as a process of this program, on loopback, with a journal below --dir. Its vehicles drive over the places of the fences and report at even distances of time. The load runs on the same machine: where it cannot be held, the report has what was reached.

Exit codes: 0 measured, 1 a failure of this side, 2 usage, 130 interrupted; what was measured until then is printed.

    paddock bench sizing
    paddock bench sizing --vehicles 5000 --every 5s --sets DIR --dir /mnt/nvme`
}

// The bounds of the flags keep a typing error from filling the machine.
const (
	maxSizes       = 20
	maxSubscribers = 1000
	maxDay         = 1000
)

// check refuses invalid flags before anything starts.
func (b *sizingCmd) check() error {
	for name, n := range map[string]int{"--vehicles": len(b.Vehicles), "--every": len(b.Every), "--door": len(b.Door)} {
		if n == 0 || n > maxSizes {
			return fmt.Errorf("%s: want 1 to %d values", name, maxSizes)
		}
	}
	for _, n := range b.Vehicles {
		if err := checkCounts(countFlag{"--vehicles", n, maxDurableObjects}); err != nil {
			return err
		}
	}
	for _, every := range b.Every {
		if every < 100*time.Millisecond || every > time.Hour {
			return fmt.Errorf("--every %v: want 100ms to 1h", every)
		}
	}
	for _, n := range b.Subscribers {
		if n < 0 || n > maxSubscribers {
			return fmt.Errorf("--subscribers %d: want 0 to %d", n, maxSubscribers)
		}
	}
	switch {
	case b.Duration < 100*time.Millisecond || b.Duration > 10*time.Minute:
		return fmt.Errorf("--duration %v: want 100ms to 10m", b.Duration)
	case b.Day < 0 || b.Day > maxDay:
		return fmt.Errorf("--day %d: want 0 to %d", b.Day, maxDay)
	case slices.Contains(b.Door, string(doors.Bus)):
		return errors.New("--door bus: want wire or http")
	}
	return nil
}

// Run measures and prints the report.
func (b *sizingCmd) Run(ctx context.Context, c *Console) error {
	if err := b.check(); err != nil {
		return usageError(err)
	}
	ways, err := doors.Parse(b.Door)
	if err != nil {
		return usagef("--door: %w", err)
	}
	o := sizing.Options{
		Vehicles: b.Vehicles, Every: b.Every, Doors: ways, Duration: b.Duration,
		Subscribers: slices.DeleteFunc(slices.Clone(b.Subscribers), func(n int) bool { return n == 0 }), Day: b.Day,
	}
	return c.onPlatforms(ctx, b.Sets, b.Dir, b.Quiet, func(ctx context.Context, at surroundings) error {
		o.Program, o.Dir, o.Sets, o.Progress = at.program, at.dir, at.sets, at.progress
		report, err := sizing.Run(ctx, o)
		if len(report.Cells) > 0 {
			err = errors.Join(err, c.printAndKeep(report, b.JSON, b.Summary))
		}
		return err
	})
}
