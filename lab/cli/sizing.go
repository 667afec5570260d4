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
	sizing.Options
	reportFlags `embed:""`
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
	for name, n := range map[string]int{"--vehicles": len(b.Vehicles), "--every": len(b.Every), "--door": len(b.Doors)} {
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
	case slices.Contains(b.Doors, doors.Bus):
		return errors.New("--door bus: want wire or http")
	}
	return nil
}

// Run measures and prints the report.
func (b *sizingCmd) Run(ctx context.Context, c *Console) error {
	if err := b.check(); err != nil {
		return usageError(err)
	}
	if _, err := doors.Parse(b.Doors); err != nil {
		return usagef("--door: %w", err)
	}
	b.Subscribers = slices.DeleteFunc(b.Subscribers, func(n int) bool { return n == 0 })
	return c.onPlatforms(ctx, &b.Setup, b.Quiet, func(ctx context.Context) error {
		report, err := sizing.Run(ctx, b.Options)
		if len(report.Cells) > 0 {
			err = errors.Join(err, c.printAndKeep(report, &b.reportFlags))
		}
		return err
	})
}
