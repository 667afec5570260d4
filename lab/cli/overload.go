package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"paddock/lab/internal/report"
	"paddock/lab/internal/scenario"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/http1"
	"paddock/wire/wiretest"
)

const (
	overloadTime = 10 * time.Minute
	// calmShare is the part of that for which less is asked before, calmLeast and calmMost
	// its bounds.
	calmShare           = 5
	calmLeast, calmMost = time.Second, time.Minute
	// overloadConns is below the limit of the front for one address, and above the number of
	// requests that a tunnel has in flight.
	overloadConns = 240
	// headBytes is the size of an answer on the link without its body.
	headBytes = 250
	// mbit is bytes.
	mbit = 1e6 / 8
)

// overload is more load than a service, or a link, can take.
type overload struct {
	*tunnelCmd
	stand    *tunneled.Stand
	requests http1.Requests
	release  func()
	o        scenario.Overload
}

// overload makes it, through a tunnel.
func (b *tunnelCmd) overload(ctx context.Context, c *Console, program string, size int) (err error) {
	ctx, release := interruptible(ctx)
	defer release()
	if b.Capacity <= 0 || b.Times <= 1 || b.Uplink < 0 {
		return usagef("--capacity is above 0, so is --uplink, and --times above 1")
	}
	if size == 0 {
		size = 3500 // the corpus has no one capacity
	}
	x := overload{tunnelCmd: b, release: release}
	down, err := x.putUp(ctx, program, size)
	defer func() { err = errors.Join(err, down()) }()
	if err != nil {
		return err
	}
	if err := x.make(ctx, c); err != nil {
		return err
	}
	if err := c.print(&x.o, b.JSON); err != nil {
		return err
	}
	if missed := x.o.Missed(); len(missed) > 0 {
		return missedError(fmt.Errorf("promises that did not hold: %d, the first: %s", len(missed), missed[0]))
	}
	return nil
}

// putUp starts the service and the tunnel. Either the service or the link is the bottleneck. down
// stops the processes that have been started, also after an error.
func (x *overload) putUp(ctx context.Context, program string, size int) (down func() error, err error) {
	var stops []func() error
	down = func() (err error) {
		for i := len(stops) - 1; i >= 0; i-- {
			err = errors.Join(err, stops[i]())
		}
		return err
	}
	law := []string{"queue", strconv.FormatFloat(x.Capacity, 'f', -1, 64) + "/s"}
	options := tunneled.Options{Program: program, Watched: true}
	x.o.Capacity = x.Capacity
	if x.Uplink > 0 {
		law, x.o.Uplink, x.o.Beside = nil, fmt.Sprintf("%g Mbit/s", x.Uplink), &scenario.Beside{}
		x.o.Capacity = x.Uplink * mbit / float64(size+headBytes)
		other, err := tunneled.Serve(ctx, program, "--body", strconv.Itoa(quietBody))
		if err != nil {
			return down, err
		}
		stops = append(stops, other.Stop)
		options.Others = []tunneled.Tunnel{{Host: quietHost, Target: other.Addr()}}
		options.Link = func(server string) (string, error) {
			shaper, err := wiretest.NewShaper(server, wiretest.LinkConfig{Rate: int64(x.Uplink * mbit)})
			if err != nil {
				return "", err
			}
			stops = append(stops, shaper.Close)
			return shaper.Addr().String(), nil
		}
	}
	x.o.Offered = x.o.Capacity * x.Times
	service, err := tunneled.Serve(ctx, program, append(law, "--body", strconv.Itoa(size))...)
	if err != nil {
		return down, err
	}
	stops = append(stops, service.Stop)
	options.Target = service.Addr()
	if x.stand, err = tunneled.Start(ctx, options); err != nil {
		return down, err
	}
	stops = append(stops, x.stand.Stop)
	x.requests, _, err = page("http://"+x.stand.Front+"/", false, []string{"Host: " + tunneled.Host})
	return down, err
}

// make makes the loads, and records their results.
func (x *overload) make(ctx context.Context, c *Console) error {
	used := process.NewWatch(x.stand.Server(), x.stand.Client())
	length := cmp.Or(x.Duration, overloadTime)
	first := x.cpu(used)
	calm, answers, err := x.calm(ctx, c, used, min(max(length/calmShare, calmLeast), calmMost))
	if err != nil {
		return err
	}
	x.o.CalmP99 = answers.Served().Quantile(0.99)
	second := x.cpu(used)
	rest := restWatch{stand: x.stand, length: length}
	if err := rest.rested(ctx); err != nil {
		return err
	}
	third := x.cpu(used)
	full, answers, err := x.flood(ctx, c, used, &rest, length)
	if err != nil {
		return err
	}
	x.o.Count(answers, full.Result)
	x.o.Spent(second-first, int64(calm.Result.Total.Done), x.cpu(used)-third)
	x.o.ServerGrowth, x.o.ClientGrowth = rest.server.PerMinute(), rest.client.PerMinute()
	err = rest.await(ctx, &x.o)
	used.Look()
	_, most := used.Last()
	x.o.ServerMemory, x.o.ClientMemory = most[0].MaxResident, most[1].MaxResident
	return err
}

// calm makes the load before the overload, so that the idle levels are those of a tunnel that has
// been used.
func (x *overload) calm(ctx context.Context, c *Console, used *process.Watch, d time.Duration) (*report.Run, *scenario.Answers, error) {
	beside, over := context.WithCancel(ctx)
	var all sync.WaitGroup
	if x.o.Beside != nil {
		all.Go(func() { quiet(beside, x.stand.Front, &scenario.Beside{}) })
	}
	run, answers, err := x.load(ctx, c, used, scenario.Calm*x.o.Capacity, d)
	over()
	all.Wait()
	return run, answers, err
}

// flood makes the load itself, while others ask beside it and the sides are looked at.
func (x *overload) flood(ctx context.Context, c *Console, used *process.Watch, rest *restWatch, d time.Duration) (*report.Run, *scenario.Answers, error) {
	beside, over := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { hints(beside, x.stand.Front, &x.o) })
	all.Go(func() { rest.run(beside) })
	if x.o.Beside != nil {
		all.Go(func() { quiet(beside, x.stand.Front, x.o.Beside) })
	}
	run, answers, err := x.load(ctx, c, used, x.o.Offered, d)
	over()
	all.Wait()
	return run, answers, err
}

// load makes requests of independent visitors, at a rate.
func (x *overload) load(ctx context.Context, c *Console, used *process.Watch, perSecond float64, d time.Duration) (*report.Run, *scenario.Answers, error) {
	answers := &scenario.Answers{}
	plan := load.Plan{Network: "tcp", Address: x.stand.Front, Codec: &http1.Codec{Requests: x.requests}, Each: answers.Each}
	r := replay{replayFlags: x.replayFlags, load: &scenario.Load{Name: "overload"}, plan: plan}
	r.Rate, r.Conns, r.Duration = []float64{perSecond}, cmp.Or(x.Conns, overloadConns), d
	if err := r.check(); err != nil {
		return nil, nil, usageError(err)
	}
	flags := r.flags(perSecond)
	flags.Rate = "poisson " + flags.Rate
	flags.Warmup, flags.Busy = 0, "drop" // one that waited here would be no load for the tunnel
	run, err := flags.prepare("overload: an HTTP tunnel", r.plan)
	if err != nil {
		return nil, nil, err
	}
	run.also = used
	done, err := run.once(ctx, c, x.release, "")
	return done, answers, err
}

// cpu returns the processor time that server and client have used so far.
func (*overload) cpu(used *process.Watch) time.Duration {
	used.Look()
	last, _ := used.Last()
	return last[0].CPU + last[1].CPU
}
