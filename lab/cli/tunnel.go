package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"paddock/lab/internal/scenario"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/http1"
)

// tunnelCmd measures a tunnel of ours on this machine. docs/guides/bench-tunnel.md is its
// guide.
type tunnelCmd struct {
	Load string `arg:"" optional:"" enum:"spike,pressure,both,overload" default:"both" complete:"spike,pressure,both,overload" help:"spike, pressure, both, or overload: more than the service can take (default ${default})."`

	Size        string  `enum:"corpus,1B,1KiB,3.5kB,32KiB-1,32KiB+1,1MiB" default:"corpus" placeholder:"SIZE" complete:"corpus,1B,1KiB,3.5kB,32KiB-1,32KiB+1,1MiB" help:"What is asked for: the 184 files in turns, or a body of a size (default ${default})."`
	TCP         bool    `name:"tcp" help:"Through a TCP tunnel, not an HTTP one."`
	Direct      bool    `help:"Without a tunnel: the service and this machine alone."`
	Capacity    float64 `placeholder:"PER-SECOND" default:"1000" help:"Of overload: capacity of the service (default ${default}/s)."`
	Times       float64 `placeholder:"N" default:"3" help:"Of overload: how many times that is asked (default ${default})."`
	Uplink      float64 `placeholder:"MBIT-PER-SECOND" help:"Of overload: the bottleneck is not the service but the link between client and server, at this rate."`
	replayFlags `embed:""`
}

// Help describes the setup.
func (*tunnelCmd) Help() string {
	return `A service, the tunnel's server and its client are started as processes of this program, on loopback, with TLS between the two; the loads are those of "paddock bench spike" and "paddock bench pressure". The report says besides what processor time and memory the tunnel's processes took.

overload asks a service of a known speed for more than that, for ten minutes or --duration, over the connections that one address may have; before that it asks for 80 % of it. It says what of the tunnel's promises held: goodput, the times of what is served, refusals with Retry-After and within 10 ms, memory, and that everything is at rest again 10 s later, each thing in a line. With --uplink it is the link between client and server that has too little room, and another tunnel of that client has to be answered all the while. Exit code 3 says that one did not hold.

` + replayExit + `

    paddock bench tunnel -d 30s
    paddock bench tunnel spike --size 3.5kB --rate 5000,10000 -d 10s
    paddock bench tunnel spike --direct -d 10s
    paddock bench tunnel overload -d 1m
    paddock bench tunnel overload --uplink 20 --times 10 --size 32KiB-1 -d 1m`
}

// loads are the arguments.
var loads = map[string][]func() *scenario.Load{
	"spike": {scenario.Spike}, "pressure": {scenario.Pressure}, "both": {scenario.Spike, scenario.Pressure},
}

// Run starts the tunnel, makes the loads and prints their reports.
func (b *tunnelCmd) Run(ctx context.Context, c *Console) (err error) {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	size, err := tunneled.Bytes(b.Size)
	if err != nil {
		return usageError(err)
	}
	if b.Load == "overload" {
		if name := b.unusedByOverload(); name != "" {
			return usagef("%s is a flag of the other loads, not of overload", name)
		}
		return b.overload(ctx, c, program, size)
	}
	holds := []string{"--corpus"}
	if size > 0 {
		holds = []string{"--body", strconv.Itoa(size)}
	}
	service, err := tunneled.Serve(ctx, program, holds...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	r := replay{replayFlags: b.replayFlags, target: "the service alone", plan: load.Plan{Network: "tcp", Address: service.Addr()}}
	if !b.Direct {
		stand, err := tunneled.Start(ctx, tunneled.Options{Program: program, Target: service.Addr(), TCP: b.TCP})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stand.Stop()) }()
		r.plan.Address, r.target = stand.Front, "an HTTP tunnel"
		if b.TCP {
			r.target = "a TCP tunnel"
		}
		r.names, r.watch = []string{"server", "client"}, process.NewWatch(stand.Server(), stand.Client())
	}
	requests, subject, err := page("http://"+r.plan.Address+"/", size == 0, []string{"Host: " + tunneled.Host})
	if err != nil {
		return err
	}
	if size > 0 {
		subject = "bodies of " + b.Size
	}
	r.subject = subject
	return b.make(ctx, c, r, requests)
}

// unusedByOverload returns the first given flag that overload does not use, "" if there is none.
func (b *tunnelCmd) unusedByOverload() string {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--tcp", b.TCP}, {"--direct", b.Direct}, {"--rate", len(b.Rate) > 0}, {"--slo", b.SLO != ""}, {"--allow-red", b.AllowRed}, {"--out", b.Out != ""}} {
		if f.given {
			return f.name
		}
	}
	return ""
}

// make makes the loads.
func (b *tunnelCmd) make(ctx context.Context, c *Console, r replay, requests http1.Requests) (verdict error) {
	for i, l := range loads[b.Load] {
		if i > 0 && !b.JSON {
			fmt.Fprintln(c.Stdout)
		}
		one := r
		one.load = l()
		one.plan.Codec = &http1.Codec{Requests: requests}
		judged, err := one.run(ctx, c)
		if err != nil {
			return err
		}
		verdict = worse(verdict, judged)
	}
	return verdict
}
