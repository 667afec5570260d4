package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/lab/internal/doors"
	"paddock/lab/internal/tracking"
)

// trackCmd measures the tracker. docs/guides/bench-track.md is its guide.
type trackCmd struct {
	tracking.Options
	reportFlags `embed:""`
}

// Help describes the setup.
func (*trackCmd) Help() string {
	return `Vehicles are parked on boundaries of the fences, and their receivers err: every event that a policy tells is a false one. Other vehicles drive through a fence of 200 m: the times are how late the policy tells it. Then the policies take turns on one processor, with vehicles that move 10 m from one position to the next.

With --door the positions of such vehicles are sent to processes of paddock up, one for each policy, through the doors that are named: wire, http, bus. Doors and policies take turns, and each position is acknowledged when it is in the journal. Tile38 has a row if its program is there, with the same fences as hooks.

With --rules one rule is changed after the other while positions come in, without doors and journal.

With --file the events of recorded positions are counted under each policy, so that the flapping is seen before one is chosen.

Exit codes: 0 measured, 1 a failure, 2 usage, 130 interrupted; what was measured until then is printed.

    paddock bench track
    paddock bench track --sets DIR --vehicles 1000 --policy raw,steady,accuracy
    paddock bench track --sets DIR --vehicles 0 --door process,wire,http,bus
    paddock bench track --sets DIR --vehicles 0 --door none --policy steady --rules 100000 --objects 1000000
    paddock bench track --sets DIR --file positions.ndjson --policy raw,steady,dwell:2m`
}

// The bounds of the flags keep a typing error from filling the machine.
const (
	maxTrackVehicles = 100_000
	maxTrackObjects  = 5_000_000
	maxTrackNoise    = 1000
)

// check refuses invalid flags before anything starts.
func (b *trackCmd) check() error {
	if b.Vehicles != 0 {
		if err := checkCounts(countFlag{"--vehicles", b.Vehicles, maxTrackVehicles}); err != nil {
			return err
		}
	}
	if err := checkCounts(
		countFlag{"--objects", b.Objects, maxTrackObjects},
		countFlag{"--rounds", b.Rounds, maxDurableRounds},
		countFlag{"--conns", b.Conns, min(maxDurableConns, max(1, b.Objects))},
		countFlag{"--batch", b.Batch, maxDurableBatch},
		countFlag{"--window", b.Window, maxDurableWindow},
	); err != nil {
		return err
	}
	if b.Rules < 0 || b.Rules > rule.MaxRules {
		return fmt.Errorf("--rules %d: want 0 to %d", b.Rules, rule.MaxRules)
	}
	if _, _, err := b.doors(); err != nil {
		return fmt.Errorf("--door: %w", err)
	}
	for _, d := range b.Every {
		if d < time.Millisecond || d > b.Parked {
			return fmt.Errorf("--every %v: want 1ms to %v, the time that vehicles are parked", d, b.Parked)
		}
	}
	switch {
	case b.Parked <= time.Hour || b.Parked > 366*24*time.Hour:
		return fmt.Errorf("--parked %v: want more than 1h, to a year: the first hour does not count", b.Parked)
	case b.Duration < 10*time.Millisecond || b.Duration > 10*time.Minute:
		return fmt.Errorf("--duration %v: want 10ms to 10m", b.Duration)
	case !(b.Noise >= 0 && b.Noise <= maxTrackNoise):
		return fmt.Errorf("--noise %v: want 0 to %d", b.Noise, maxTrackNoise)
	}
	for _, p := range b.Policies {
		if _, err := track.ParsePolicy(p); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	return nil
}

// doors returns what --door names.
func (b *trackCmd) doors() (all []doors.Door, inProcess bool, err error) {
	const process, none = "process", "none"
	if slices.Equal(b.Door, []string{none}) {
		return nil, false, nil
	}
	others := slices.DeleteFunc(slices.Clone(b.Door), func(name string) bool { return name == process })
	if all, err = doors.Parse(others); err != nil {
		err = fmt.Errorf("%w, %s, or %s alone", err, process, none)
	}
	return all, slices.Contains(b.Door, process), err
}

// Run measures and prints the report.
func (b *trackCmd) Run(ctx context.Context, c *Console) error {
	if err := b.check(); err != nil {
		return usageError(err)
	}
	b.Doors, b.InProcess, _ = b.doors() // checked
	if len(b.Doors) == 0 || b.File != "" {
		b.Dir = os.TempDir() // nothing is written there
	}
	return c.onPlatforms(ctx, &b.Setup, b.Quiet, func(ctx context.Context) error {
		report, err := tracking.Run(ctx, b.Options)
		if report.Subject != "" {
			err = errors.Join(err, c.print(report, b.JSON))
			if b.Summary != "" {
				err = errors.Join(err, writeSummary(b.Summary, report.Summary()))
			}
		}
		return err
	})
}
