package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"paddock/cmd/paddock/client/recording"
	"paddock/cmd/paddock/output"
	"paddock/internal/process/lifecycle"
)

// Positions sends positions to a running platform.
type Positions struct {
	Send positionsSendCmd `cmd:"" help:"Send recorded positions, at the pace of the recording or faster."`
}

// positionsSendCmd sends recordings.
type positionsSendCmd struct {
	Files  []string `arg:"" name:"file" help:"Recordings; - is standard input."`
	Speed  string   `default:"1x" placeholder:"FACTOR" help:"How much faster than recorded, as 10x or 0.5x; max sends without pauses."`
	Fleet  string   `placeholder:"NAME" help:"Fleet of the positions that name none."`
	ID     string   `name:"id" placeholder:"ID" help:"Id of the positions that have none (default the name of the track, or of the file)."`
	Format string   `placeholder:"FORMAT" complete:"gpx,json,csv,gtfs-rt" help:"gpx, json (also GeoJSON, and an object on each line), csv or gtfs-rt (default by the contents)."`
	Loop   bool     `help:"Begin again at the end, with later times, until SIGINT. Needs --shift-to-now."`
	Shift  bool     `name:"shift-to-now" help:"Send each position with the time at which it is due, in place of the recorded one."`
	JSON   bool     `name:"json" help:"Print an object with sent, accepted, late, outliers, rejected and rejections."`
	remote
}

// Help describes the formats and the pace.
func (*positionsSendCmd) Help() string {
	return `The positions of several files are sent by their times; the order within a file is kept. Distances in time are those of the recording, divided by --speed. Feeds of GTFS-realtime, which are files named .pb or .pbf or those of --format gtfs-rt, are read one behind the other, so give them by their times. Of other files there are at most 256. Memory is bounded by a line, a Feature, or a feed of 32 MiB, and not by the size of a file.

The platform refuses positions that are not newer than the object's last one as late, which is harmless, and those more than a minute ahead of its clock. While it has no room (429, 503) or cannot be reached, the same positions are sent again after the time that it asks for, for at most 5 minutes; and so are those that it did not apply because it was stopped.

Rejected positions are named with their place: the first 20, of --json the first 1000. On SIGINT the command ends with its summary.

Exit codes: 0 all positions were accepted or late, 1 some were rejected, or sending failed, 2 usage.

    paddock positions send bus-7.gpx --speed 10x --shift-to-now
    paddock positions send day.ndjson --speed max --fleet buses
    paddock positions send feeds/*.pb --loop --shift-to-now
    paddock track bus-7 | paddock positions send - --id bus-8 --speed max`
}

const (
	// maxRecordings bounds the files that are open at once.
	maxRecordings = 256
	maxSpeed      = 1e6
)

// Run sends the positions, and prints a summary.
func (k *positionsSendCmd) Run(ctx context.Context, c *Console) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	speed, form, err := k.check()
	if err != nil {
		return err
	}
	shown := output.NewProgress(c.Stderr)
	defer shown.End()
	s := &sender{remote: &k.remote, fleet: k.Fleet, shown: shown, stderr: c.Stderr, keep: 20}
	if k.JSON {
		s.keep = 1000
	}
	for {
		round := &pace{speed: speed, shift: k.Shift, begun: time.Now()}
		err = k.play(ctx, c, form, round, s)
		if err != nil || !k.Loop || ctx.Err() != nil {
			break
		}
		if !round.any {
			err = errors.New("there is no position to send again")
			break
		}
		// The next round begins a recorded second behind the last position.
		if lifecycle.Sleep(ctx, time.Duration(float64(time.Second)/speed)) != nil {
			break
		}
	}
	shown.End()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil
	}
	if printed := s.summary(c, k.JSON); printed != nil {
		return errors.Join(err, printed)
	}
	if err == nil && s.count.Rejected > 0 {
		err = fmt.Errorf("%d positions were rejected", s.count.Rejected)
	}
	return err
}

// check returns the speed, which is infinite for max, and the format.
func (k *positionsSendCmd) check() (speed float64, form recording.Format, err error) {
	if form, err = recording.Parse(k.Format); err != nil {
		return 0, form, usagef("--format: %w", err)
	}
	speed = math.Inf(1)
	if k.Speed != "max" {
		speed, err = strconv.ParseFloat(strings.TrimSuffix(k.Speed, "x"), 64)
		if err != nil || !(speed >= 1e-3 && speed <= maxSpeed) {
			return 0, form, usagef("--speed %s: neither a factor from 0.001x to 1000000x, such as 10x, nor max", k.Speed)
		}
	}
	switch {
	case k.Shift && math.IsInf(speed, 1):
		return 0, form, usagef("--shift-to-now: at --speed max all positions would have the same time: give a factor")
	case k.Loop && !k.Shift:
		return 0, form, usagef("--loop: the second round would be late: add --shift-to-now")
	}
	stdin := 0
	for _, file := range k.Files {
		if file == "-" {
			stdin++
		}
	}
	if stdin > 1 || stdin > 0 && k.Loop {
		return 0, form, usagef("-: standard input is read once")
	}
	return speed, form, nil
}

// play sends the recordings once.
func (k *positionsSendCmd) play(ctx context.Context, c *Console, form recording.Format, p *pace, s *sender) error {
	feeds := form == recording.GTFSRT || k.areFeeds()
	if len(k.Files) > maxRecordings && !feeds {
		return usagef("%d files: at most %d are merged by their times; for feeds of GTFS-realtime give --format gtfs-rt", len(k.Files), maxRecordings)
	}
	var files []recording.Positions
	for _, file := range k.Files {
		files = append(files, k.file(c, file, form))
	}
	all := recording.Merge
	if feeds {
		all = recording.Concat
	}
	for fix, err := range all(files) {
		rejected, isRejected := errors.AsType[*recording.Rejected](err)
		switch {
		case isRejected:
			s.reject(rejected.Place.String(), rejected.Reason)
			continue
		case err != nil:
			return errors.Join(err, s.flush(ctx))
		}
		due := p.due(&fix)
		if wait := time.Until(due); wait > 0 {
			if err := s.flush(ctx); err != nil {
				return err
			}
			s.show(fix.Time)
			if err := lifecycle.Sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		if err := s.add(ctx, &fix); err != nil {
			return err
		}
	}
	return s.flush(ctx)
}

// areFeeds reports whether the names of all files are those of recorded feeds.
func (k *positionsSendCmd) areFeeds() bool {
	for _, file := range k.Files {
		if !strings.HasSuffix(file, ".pb") && !strings.HasSuffix(file, ".pbf") {
			return false
		}
	}
	return true
}

// file returns the positions of a file, which is open while they are asked for.
func (k *positionsSendCmd) file(c *Console, name string, form recording.Format) recording.Positions {
	return func(yield func(recording.Fix, error) bool) {
		in, shown := c.Stdin, "-"
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				yield(recording.Fix{}, err)
				return
			}
			defer f.Close()
			in, shown = f, name
		}
		recording.Read(in, shown, k.ID, form)(yield)
	}
}

// pace tells when the positions of a round are due.
type pace struct {
	speed float64
	shift bool
	begun time.Time
	any   bool  // a position was there
	first int64 // the time of that, Unix milliseconds
}

// due returns when a position is to be sent, and gives it its time.
func (p *pace) due(f *recording.Fix) time.Time {
	if !p.any {
		p.any, p.first = true, f.Due
	}
	if math.IsInf(p.speed, 1) {
		return p.begun
	}
	if p.shift {
		f.Time = p.at(f.Time).UnixMilli()
	}
	return p.at(f.Due)
}

// at returns the time for a recorded one.
func (p *pace) at(recorded int64) time.Time {
	behind := float64(recorded-p.first) * float64(time.Millisecond) / p.speed
	const most = float64(math.MaxInt64 / 4)
	return p.begun.Add(time.Duration(max(-most, min(behind, most))))
}
