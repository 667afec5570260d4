// Package durable measures the platform's journal: the disk below it, positions a second with it
// and without it, the start after a crash, and the bytes on disk. The platforms are processes of
// `paddock up` on loopback.
package durable

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
	"paddock/lab/process"
)

// Options say what is measured, as the flags of `paddock bench durable`. All must be set, but Bus,
// Peer and Profile may be empty.
type Options struct {
	doors.Setup

	Rounds   int           `placeholder:"N" default:"5" help:"Rounds, in each of which every contender has a turn (default ${default})."`
	Duration time.Duration `short:"d" placeholder:"DURATION" default:"5s" help:"Length of a turn over wire; one over HTTP is a fifth of it (default ${default})."`
	Objects  int           `placeholder:"N" default:"10000" help:"Objects that report positions (default ${default})."`
	Conns    int           `short:"c" placeholder:"N" default:"2" help:"Connections (default ${default})."`
	Batch    int           `placeholder:"N" default:"1000" help:"Positions that are sent together (default ${default})."`
	Window   int           `placeholder:"N" default:"2" help:"Batches of a connection that are sent and not acknowledged (default ${default})."`
	Recovery []int         `name:"recover" placeholder:"N" default:"10000,100000,1000000" help:"Kill platforms that know so many objects, and start them again; 0 leaves that out (default ${default})."`

	Bus     string `placeholder:"URL" help:"NATS servers with the log of a cluster, from paddock cluster init: its only node is measured too."`
	Peer    string `type:"path" placeholder:"FILE" help:"The program tile38-server (default that of PATH, if it is there)."`
	Profile string `type:"path" placeholder:"FILE" help:"Write a profile of the processor time of the first round: of the node with --bus, else of the platform with a journal."`
}

// warmup is the length of the load before the first round, of each kind.
const warmup = time.Second

// bench is a measurement under way.
type bench struct {
	Options
	root    string // of the temporary files
	places  *doors.Places
	service doors.Service
	sender  *doors.Sender
	disk    *disk
	report  *Report
}

// Run measures. After an error the report has the figures so far.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	report = newReport(&o)
	root, remove, err := process.TempDirIn(o.Dir, "durable")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b := &bench{
		Options: o, root: root, report: report,
		service: doors.Service{Program: o.Program, Sets: o.Sets, Root: root, Policy: "raw"},
		sender:  &doors.Sender{Agent: "paddock bench durable", Batch: o.Batch, Window: o.Window},
	}
	if b.places, err = doors.ReadPlaces(o.Sets); err != nil {
		return report, err
	}
	report.Subject, report.FileSystem = b.places.Subject, FileSystem(root)
	if b.disk, err = openDisk(filepath.Join(root, "disk")); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, b.disk.close()) }()
	for _, step := range []func(context.Context) error{b.compare, b.recoverAll} {
		if err := step(ctx); err != nil {
			return report, err
		}
	}
	return report, nil
}

// profiled returns the name of the platform whose profile is taken.
func (b *bench) profiled() string {
	if b.Bus != "" {
		return clusters
	}
	return durable
}

// compare runs the rounds over wire and HTTP: the contenders take turns, and each round begins with
// another one.
func (b *bench) compare(ctx context.Context) (err error) {
	var contenders []contender
	defer func() {
		for _, c := range contenders {
			err = errors.Join(err, c.stop(ctx))
		}
	}()
	modes := []string{durable, volatile}
	if b.Bus != "" {
		modes = append(modes, clusters)
	}
	for _, name := range modes {
		m, err := b.startMode(ctx, name)
		if err != nil {
			return err
		}
		contenders = append(contenders, m)
	}
	peer, err := b.startPeer(ctx)
	if err != nil {
		return err
	}
	if peer != nil {
		contenders = append(contenders, peer)
	}
	for round := range b.Rounds {
		b.Say("round %d of %d", round+1, b.Rounds)
		for i := range contenders {
			if err := contenders[(round+i)%len(contenders)].measure(ctx, round); err != nil {
				return err
			}
		}
		for _, c := range contenders {
			c.note()
		}
		b.report.Disk = results.NewTimes(b.disk.times)
		b.report.compare()
	}
	return nil
}

// contender is a service under the same load as the others.
type contender interface {
	// measure makes the load of a round.
	measure(ctx context.Context, round int) error
	// note adds the figures so far to the report.
	note()
	// stop ends the service, and adds the figures of its files to the report.
	stop(ctx context.Context) error
}
