package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"paddock/internal/lab/httptunnel"
	"paddock/internal/lab/process"
	"paddock/internal/lab/tunneled"
	"paddock/load"
	"paddock/load/http1"
)

const (
	overloadTime = 10 * time.Minute
	// overloadConns is below what the front lets one address have, and above what a tunnel
	// has under way.
	overloadConns = 240
	// askEvery is how often refusals are looked at more closely than a load generator does.
	askEvery = 50 * time.Millisecond
	// lookEvery is how often it is looked whether the tunnel is at rest.
	lookEvery = 200 * time.Millisecond
)

// overload makes more load than a service of a known speed can take, through a tunnel.
func (b *benchTunnelCmd) overload(ctx context.Context, c *console, program string, size int) (err error) {
	ctx, release := interruptible(ctx)
	defer release()
	if b.Capacity <= 0 || b.Times <= 1 {
		return usagef("--capacity is above 0, and --times above 1")
	}
	if size == 0 {
		size = 3500 // the corpus has no one capacity
	}
	service, err := tunneled.Serve(ctx, program, "queue", strconv.FormatFloat(b.Capacity, 'f', -1, 64)+"/s", "--body", strconv.Itoa(size))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	stand, err := tunneled.Start(ctx, tunneled.Options{Program: program, Target: service.Addr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stand.Stop()) }()
	o := &httptunnel.Overload{Capacity: b.Capacity, Offered: b.Capacity * b.Times}
	if err := b.flood(ctx, c, release, stand, o); err != nil {
		return err
	}
	write := o.WriteText
	if b.JSON {
		write = o.WriteJSON
	}
	if err := write(c.Stdout); err != nil {
		return err
	}
	if missed := o.Missed(); len(missed) > 0 {
		return missedError{fmt.Errorf("promises that did not hold: %d, the first: %s", len(missed), missed[0])}
	}
	return nil
}

// flood makes the load, and fills in what came of it.
func (b *benchTunnelCmd) flood(ctx context.Context, c *console, release func(), stand *tunneled.Stand, o *httptunnel.Overload) error {
	requests, _, err := page("http://"+stand.Front+"/", false, []string{"Host: " + tunneled.Host})
	if err != nil {
		return err
	}
	answers := &httptunnel.Answers{}
	plan := load.Plan{Network: "tcp", Address: stand.Front, Codec: &http1.Codec{Requests: requests}, Each: answers.Each}
	r := replay{replayFlags: b.replayFlags, load: &httptunnel.Load{Name: "overload", Duration: overloadTime}, target: "an HTTP tunnel", plan: plan}
	r.Rate, r.Conns = []float64{o.Offered}, cmp.Or(b.Conns, overloadConns)
	if err := r.check(); err != nil {
		return usageError{err}
	}
	watch := process.NewWatch(stand.Server(), stand.Client())
	before, _ := watch.Last()
	o.DescriptorsBefore = before[0].Descriptors + before[1].Descriptors
	flags := r.flags(o.Offered)
	flags.Warmup, flags.Busy = 0, "drop" // one that waited here would be no load for the tunnel
	run, err := flags.prepare("overload: an HTTP tunnel", r.plan)
	if err != nil {
		return err
	}
	run.also = watch
	asking, over := context.WithCancel(ctx)
	asked := make(chan [2]int64, 1)
	go func() { asked <- askBeside(asking, stand.Front) }()
	done, err := run.once(ctx, c, release, "")
	over()
	hints := <-asked
	if err != nil {
		return err
	}
	o.Count(answers, done.Result)
	o.Hinted, o.Unhinted = hints[0], hints[1]
	awaitRest(ctx, watch, o)
	return nil
}

// awaitRest looks until the processes hold what they held before, or should have.
func awaitRest(ctx context.Context, watch *process.Watch, o *httptunnel.Overload) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for began := time.Now(); ; {
		watch.Look()
		last, most := watch.Last()
		o.ServerMemory, o.ClientMemory = most[0].MaxResident, most[1].MaxResident
		o.DescriptorsAfter, o.Idle = last[0].Descriptors+last[1].Descriptors, time.Since(began)
		if o.AtRest() || o.Idle >= httptunnel.IdleWithin {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// askBeside asks the front now and then until ctx ends, and counts the refusals that say when
// to come again, and those that do not.
func askBeside(ctx context.Context, front string) (hints [2]int64) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	ticks := time.NewTicker(askEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return hints
		case <-ticks.C:
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+front+"/", nil)
		if err != nil {
			return hints
		}
		r.Host = tunneled.Host
		answer, err := client.Do(r)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		switch {
		case answer.StatusCode != http.StatusServiceUnavailable:
		case answer.Header.Get("Retry-After") == "":
			hints[1]++
		default:
			hints[0]++
		}
	}
}
