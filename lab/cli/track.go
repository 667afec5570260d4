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
	Sets   string   `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`
	Policy []string `placeholder:"PRESET" default:"raw,steady" help:"Policies to compare: raw, steady, accuracy or dwell:DURATION (default ${default})."`

	Noise    float64         `placeholder:"METRES" default:"5" help:"Error of a receiver on each axis, one standard deviation; it changes within half a minute (default ${default})."`
	Vehicles int             `placeholder:"N" default:"100" help:"Vehicles that are parked on boundaries; 0 leaves them out, and the crossings (default ${default})."`
	Parked   time.Duration   `placeholder:"DURATION" default:"24h" help:"For so long, in the simulation (default ${default})."`
	Every    []time.Duration `placeholder:"DURATION" default:"1s,10s,30s,300s" help:"Times between two positions of a vehicle (default ${default})."`

	Door      []string `placeholder:"DOOR" default:"process" help:"Where the throughput is measured: process (one shard in this process), and wire, http, bus (platforms that this program starts), or none (default ${default})."`
	Conns     int      `short:"c" placeholder:"N" default:"2" help:"Connections to a door (default ${default})."`
	Batch     int      `placeholder:"N" default:"1000" help:"Positions that are sent together (default ${default})."`
	Window    int      `placeholder:"N" default:"2" help:"Batches of a connection that are sent and not acknowledged (default ${default})."`
	NoJournal bool     `help:"Platforms and peer keep nothing on disk."`
	Dir       string   `type:"path" placeholder:"DIR" help:"Directory for the journals of the platforms (default the user's cache directory)."`
	Peer      string   `type:"path" placeholder:"FILE" help:"The program tile38-server, for a row beside the doors (default that of PATH, if it is there)."`

	Objects  int           `placeholder:"N" default:"20000" help:"Vehicles that drive, for the throughput (default ${default})."`
	Rounds   int           `placeholder:"N" default:"5" help:"Rounds of the throughput, in each of which every policy has a turn (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"2s" help:"Length of a turn (default ${default})."`

	Rules int `placeholder:"N" help:"Put so many rules on the vehicles that drive, and change one of them while positions come in: the bytes of an object, and the time of a change."`

	File    string `type:"path" placeholder:"FILE" help:"Recorded positions, in the forms of POST /v1/positions: count the events of each policy for them, in place of the rest."`
	JSON    bool   `name:"json" help:"Print the report as an object."`
	Summary string `type:"path" placeholder:"FILE" help:"Write the report to this file besides, in the form of docs/results."`
	Quiet   bool   `short:"q" help:"Show nothing while it runs."`
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
	for _, p := range b.Policy {
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
	all, inProcess, _ := b.doors() // checked
	o := tracking.Options{
		Policies: b.Policy, Noise: b.Noise, Vehicles: b.Vehicles, Parked: b.Parked, Every: b.Every,
		Objects: b.Objects, Rounds: b.Rounds, Duration: b.Duration, Rules: b.Rules, File: b.File,
		InProcess: inProcess, Doors: all, Volatile: b.NoJournal, Conns: b.Conns, Batch: b.Batch, Window: b.Window, Peer: b.Peer,
	}
	dir := b.Dir
	if len(all) == 0 || b.File != "" {
		dir = os.TempDir() // nothing is written there
	}
	return c.onPlatforms(ctx, b.Sets, dir, b.Quiet, func(ctx context.Context, at surroundings) error {
		o.Program, o.Dir, o.Sets, o.Progress = at.program, at.dir, at.sets, at.progress
		report, err := tracking.Run(ctx, o)
		if report.Subject != "" {
			err = errors.Join(err, c.print(report, b.JSON))
			if b.Summary != "" {
				err = errors.Join(err, writeSummary(b.Summary, report.Summary()))
			}
		}
		return err
	})
}
