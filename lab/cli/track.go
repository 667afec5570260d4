package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"paddock/fence/track"
	"paddock/lab/internal/tracking"
)

// trackCmd measures the tracker. docs/guides/bench-track.md is its guide.
type trackCmd struct {
	Sets   string   `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`
	Policy []string `placeholder:"PRESET" default:"raw,steady" help:"Policies to compare: raw, steady, accuracy or dwell:DURATION (default ${default})."`

	Noise    float64         `placeholder:"METRES" default:"5" help:"Error of a receiver on each axis, one standard deviation; it changes within half a minute (default ${default})."`
	Vehicles int             `placeholder:"N" default:"100" help:"Vehicles that are parked on boundaries (default ${default})."`
	Parked   time.Duration   `placeholder:"DURATION" default:"24h" help:"For so long, in the simulation (default ${default})."`
	Every    []time.Duration `placeholder:"DURATION" default:"1s,10s,30s,300s" help:"Times between two positions of a vehicle (default ${default})."`

	Objects  int           `placeholder:"N" default:"20000" help:"Vehicles that drive, for the throughput (default ${default})."`
	Rounds   int           `placeholder:"N" default:"5" help:"Rounds of the throughput, in each of which every policy has a turn (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"2s" help:"Length of a turn (default ${default})."`

	File  string `type:"path" placeholder:"FILE" help:"Recorded positions, in the forms of POST /v1/positions: count the events of each policy for them, in place of the rest."`
	JSON  bool   `name:"json" help:"Print the report as an object."`
	Quiet bool   `short:"q" help:"Show nothing while it runs."`
}

// Help describes the setup.
func (*trackCmd) Help() string {
	return `Vehicles are parked on boundaries of the fences, and their receivers err: every event that a policy tells is a false one. Other vehicles drive through a fence of 200 m: the times are how late the policy tells it. Then the policies take turns on one processor, with vehicles that move 10 m from one position to the next.

With --file the events of recorded positions are counted under each policy, so that an operator sees the flapping before he chooses one.

Exit codes: 0 measured, 1 a failure, 2 usage, 130 interrupted; what was measured until then is printed.

    paddock bench track
    paddock bench track --sets DIR --vehicles 1000 --policy raw,steady,accuracy
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
	if err := checkCounts(
		countFlag{"--vehicles", b.Vehicles, maxTrackVehicles},
		countFlag{"--objects", b.Objects, maxTrackObjects},
		countFlag{"--rounds", b.Rounds, maxDurableRounds},
	); err != nil {
		return err
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
	for _, p := range b.Policy {
		if _, err := track.ParsePolicy(p); err != nil {
			return fmt.Errorf("--policy: %w", err)
		}
	}
	return nil
}

// Run measures and prints the report.
func (b *trackCmd) Run(ctx context.Context, c *Console) (err error) {
	if err := b.check(); err != nil {
		return usageError(err)
	}
	sets, remove, err := townUnless(b.Sets)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process

	o := tracking.Options{
		Sets: sets, Policies: b.Policy, Noise: b.Noise, Vehicles: b.Vehicles, Parked: b.Parked, Every: b.Every,
		Objects: b.Objects, Rounds: b.Rounds, Duration: b.Duration, File: b.File, Progress: c.Stderr,
	}
	if b.Quiet {
		o.Progress = io.Discard
	}
	report, err := tracking.Run(ctx, o)
	if report.Subject != "" {
		err = errors.Join(err, c.print(report, b.JSON))
	}
	if ctx.Err() != nil {
		return interruptedError(errors.New("interrupted"))
	}
	return err
}
