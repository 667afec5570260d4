// Package durable measures the platform's journal: the disk below it, positions a second with it
// and without it, the start after a crash, and the bytes on disk. The platforms are processes of
// `paddock up` on loopback.
package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
	"paddock/lab/process"
)

// Options say what is measured. All must be set, but Bus, Peer and Profile may be empty.
type Options struct {
	Program string // that has the command up
	Dir     string // on the measured disk; all files are made below it
	Sets    string // directory of GeoJSON files

	Rounds   int
	Duration time.Duration // of each window over wire; one over HTTP is a fifth of it
	Objects  int
	Conns    int
	Batch    int   // positions
	Window   int   // batches of a connection that are sent and not acknowledged
	Recovery []int // numbers of objects of the platforms that are killed

	Bus      string // URL of NATS servers with the log of a cluster, whose only node is measured too; "" = none
	Peer     string // program tile38-server; "" = that of PATH
	Profile  string // file for a profile of the processor time of the node, or of the durable platform
	Progress io.Writer
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

func (b *bench) say(format string, args ...any) { fmt.Fprintf(b.Progress, format+"\n", args...) }

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
		b.say("round %d of %d", round+1, b.Rounds)
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
