// Package sizing measures what fleets of several sizes need: processors, memory and disk of a
// platform while vehicles report at a rate, and the bytes that their past takes. The platforms are
// processes of `paddock up` on loopback, with a journal.
package sizing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/durable"
	"paddock/lab/process"
)

// Options say what is measured.
type Options struct {
	doors.Setup

	Vehicles    []int           `placeholder:"N" default:"1000,10000,100000,1000000" help:"Sizes of fleets (default ${default})."`
	Every       []time.Duration `placeholder:"TIME" default:"10s,1s" help:"Times between two positions of a vehicle (default ${default})."`
	Doors       []doors.Door    `name:"door" placeholder:"DOOR" default:"wire,http" complete:"wire,http" help:"Interfaces: wire, batches as of a gateway, or http, a position a request as of a phone (default ${default})."`
	Duration    time.Duration   `short:"d" placeholder:"DURATION" default:"10s" help:"Length of each load (default ${default})."`
	Subscribers []int           `placeholder:"N" default:"10,100" help:"Streams of all events, beside the smaller fleet of the middle; 0 leaves that out (default ${default})."`
	Day         int             `placeholder:"N" default:"50" help:"Vehicles whose day is stored, to measure the disk; 0 leaves that out (default ${default})."`
}

const (
	// conns is the number of connections over wire, window that of their batches under way, and
	// phones the number of connections over HTTP, each with one request under way.
	conns  = 2
	window = 8
	phones = 32
	// perSecond is the number of batches of a connection, as far as one of maxBatch suffices.
	perSecond = 10
	maxBatch  = 1000
	// warmup is the length of the load before each measurement.
	warmup = time.Second
	day    = 24 * time.Hour
)

// bench is a measurement under way.
type bench struct {
	Options
	root    string // of the temporary files
	places  *doors.Places
	service doors.Service
	report  *Report
}

// Run measures. After an error the report has the figures so far.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	report = newReport(&o)
	root, remove, err := process.TempDirIn(o.Dir, "sizing")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	b := &bench{
		Options: o, root: root, report: report,
		service: doors.Service{Program: o.Program, Sets: o.Sets, Root: root, Policy: "steady"},
	}
	if b.places, err = doors.ReadPlaces(o.Sets); err != nil {
		return report, err
	}
	report.Subject, report.FileSystem = b.places.Subject, durable.FileSystem(root)
	for _, vehicles := range o.Vehicles {
		if err := b.fleet(ctx, vehicles); err != nil {
			return report, fmt.Errorf("%d vehicles: %w", vehicles, err)
		}
	}
	for _, every := range o.Every {
		if o.Day == 0 {
			break
		}
		if err := b.day(ctx, every); err != nil {
			return report, fmt.Errorf("a day: %w", err)
		}
	}
	return report, nil
}

// beside runs f while a platform runs that keeps its journal in a directory.
func (b *bench) beside(ctx context.Context, data string, f func(p *doors.Platform) error) error {
	p, err := b.service.Start(ctx, data)
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.End(ctx))
}

// fleet measures a number of vehicles at each interval, through each door. The fleet of the middle
// is measured with subscribers too.
func (b *bench) fleet(ctx context.Context, vehicles int) (err error) {
	data := filepath.Join(b.root, "data")
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	return b.beside(ctx, data, func(p *doors.Platform) error {
		sets, err := readSets(ctx, p.HTTP)
		if err != nil {
			return err
		}
		b.report.Sets = sets
		b.Say("%d vehicles", vehicles)
		sender := newSender(doors.Wire, 0)
		fleets := sender.Fleets(doors.Wire, b.places, "", vehicles, min(conns, vehicles))
		if _, err := sender.Wire(ctx, p.Wire, fleets, doors.Load{Positions: vehicles}); err != nil {
			return err
		}
		for _, every := range b.Every {
			for _, d := range b.Doors {
				if err := b.cell(ctx, p, fleets, Cell{Vehicles: vehicles, Every: Seconds(every.Seconds()), Door: string(d)}); err != nil {
					return err
				}
			}
		}
		if vehicles != b.Vehicles[(len(b.Vehicles)-1)/2] {
			return nil
		}
		for _, n := range b.Subscribers {
			c := Cell{Vehicles: vehicles, Every: Seconds(slices.Min(b.Every).Seconds()), Door: string(doors.Wire), Subscribers: n}
			if err := b.cell(ctx, p, fleets, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// newSender returns the sender of so many positions a second, over conns connections or those of
// phones, which send one position at a time.
func newSender(d doors.Door, rate float64) *doors.Sender {
	s := &doors.Sender{Agent: "paddock bench sizing", Batch: 1, Window: window}
	if d == doors.Wire {
		s.Batch = maxBatch
		if rate > 0 {
			s.Batch = min(max(1, int(rate/conns/perSecond)), maxBatch)
		}
	}
	return s
}

// cell measures one load.
func (b *bench) cell(ctx context.Context, p *doors.Platform, fleets []*doors.Fleet, c Cell) (err error) {
	c.Asked = float64(c.Vehicles) / float64(c.Every)
	d := doors.Door(c.Door)
	sender := newSender(d, c.Asked)
	if d == doors.HTTP {
		fleets = deal(fleets, min(phones, c.Vehicles))
	}
	readers, err := subscribe(ctx, p.HTTP, c.Subscribers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, readers.close()) }()
	load := doors.Load{Length: min(warmup, b.Duration), PerSecond: c.Asked}
	if _, err := sender.Send(ctx, d, p, fleets, load); err != nil {
		return err
	}
	load.Length = b.Duration
	w, grown, err := p.Measure(ctx, func(ctx context.Context) (doors.Window, error) { return sender.Send(ctx, d, p, fleets, load) })
	if err != nil {
		return err
	}
	c.fill(&w, &grown)
	b.Say("  %s every %v: %s", c.Door, c.Every, c.text())
	b.report.Cells = append(b.report.Cells, c)
	return nil
}

// deal deals the vehicles of some fleets to more connections. They share no vehicle, and are used
// one after the other with the given ones.
func deal(fleets []*doors.Fleet, n int) []*doors.Fleet {
	all := make([]*doors.Fleet, n)
	for i := range all {
		all[i] = &doors.Fleet{}
	}
	i := 0
	for _, f := range fleets {
		for _, v := range f.Vehicles {
			all[i%n].Vehicles = append(all[i%n].Vehicles, v)
			i++
		}
	}
	return all
}
