package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/internal/process/terminal"
	"paddock/lab/perf"
	"paddock/lab/process"
)

// wireCmd makes the runs of gofast's perf, prints its figures, and more behind
// them. docs/guides/bench-wire.md is its guide.
type wireCmd struct {
	perf.Options

	Addr      string `short:"a" placeholder:"ADDR" help:"Server to measure, host:port or unix:path (default one of its own, as a second process)."`
	TLS       bool   `name:"tls" help:"Speak TLS. With --addr the server's certificate is checked, unless --pin says which it is."`
	Pin       string `placeholder:"SHA256" help:"Fingerprint of the server's certificate."`
	Token     string `placeholder:"TOKEN" help:"Token to give; better given in the environment."`
	Floor     bool   `help:"Measure raw TCP between the same processes as well, before and after: echo, and writes of 64 KiB."`
	Reconnect bool   `help:"When verifying, reconnect when a connection ends: the calls that this costs are listed, and are no failure of the run."`
	Session   string `placeholder:"ID" help:"When verifying with --reconnect, name of the client, 32 hexadecimal digits: a process that begins under it takes over from the one before (default a random one)."`
	Journal   string `type:"path" placeholder:"FILE" help:"When verifying, write each post that was acknowledged to this file."`
	Compat    bool   `name:"original-compat" help:"Print the figures as gofast's perf does, which divides by whole seconds. A run of less than a second has none."`
	Profile   string `type:"path" placeholder:"FILE" help:"Write a profile of the processor's time to this file, and that of a server of its own to FILE.server."`

	loadFlags `kong:"embed,set='conns=1',set='depth=64',set='timeout=0s'"`
}

// Help describes the outcome.
func (*wireCmd) Help() string {
	return `Runs by --count are those of gofast's perf. With --rate, -d, -n, --slo or --out the load is made as "paddock bench http" makes it, with its report, objectives and exit codes: --do post sends acknowledged posts, request and streamtx are what they are, and --routines, --batchsize and --count have no part in it.

A run by --count fails if a call failed, if the server had fewer posts than were sent, or if a verified body was lost, changed or doubled. SIGINT ends a run with the report of what was measured until then.

The flags of gofast's perf work in its form too: -do post -count 1000000. Those without a meaning here have a note each.

    paddock bench wire --do post --count 1000000 --routines 100 --batchsize 100 --payload 64
    paddock bench wire --do request --count 100000 --payload 64 --floor
    paddock bench wire --do request --rate "poisson 20000/s" -d 30s --slo "p99<2ms" --out DIR`
}

// progressEvery is how often the line on a terminal changes.
const progressEvery = 500 * time.Millisecond

// Run makes the run and prints its report.
func (b *wireCmd) Run(ctx context.Context, c *Console) (err error) {
	if b.Compat && (b.byLoad() || b.JSON) {
		return usagef("--original-compat is about the text of runs by --count")
	}
	if b.byLoad() {
		return b.makeLoad(ctx, c)
	}
	options := b.options()
	if err := options.Check(); err != nil {
		return usageError(err)
	}
	ctx, release := interruptible(ctx)
	defer release()
	defer context.AfterFunc(ctx, release)() // a second signal ends the process

	target, stop, err := b.target(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	stopProfile, err := process.Profile(b.Profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopProfile()) }()
	report, err := b.measure(ctx, c, target, options)
	if err != nil {
		return err
	}
	if b.Compat {
		return errors.Join(report.WriteOriginal(c.Stdout), report.Err())
	}
	return errors.Join(c.print(report, b.JSON), report.Err())
}

// options returns the options for the flags of gofast.
func (b *wireCmd) options() perf.Options {
	o := b.Options
	o.Conns, o.Timeout = b.loadFlags.Conns, b.loadFlags.Timeout
	return o
}

// measure opens the connections and runs, with a line of progress.
func (b *wireCmd) measure(ctx context.Context, c *Console, target perf.Target, o perf.Options) (*perf.Report, error) {
	run, closeAll, err := perf.Open(ctx, target, o)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	run.WithFloor = b.Floor
	if b.Journal != "" {
		close, err := run.KeepAcknowledged(b.Journal)
		if err != nil {
			return nil, err
		}
		defer close()
	}
	progress, end := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		showProgress(progress, terminal.NewStatusLine(c.Stderr), run)
	}()
	report, err := run.Measure(ctx)
	end()
	<-shown
	return report, err
}

// showProgress shows how far the run is, where the standard error is a terminal,
// until ctx ends.
func showProgress(ctx context.Context, s *terminal.StatusLine, run *perf.Run) {
	if !s.Visible() {
		return
	}
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	defer s.Show("")
	before, since := int64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			done := run.Done()
			rate := float64(done-before) / now.Sub(since).Seconds()
			s.Show(fmt.Sprintf("%s: %d of %d (%.0f %%), %.0f /second", run.Do, done, run.Total(),
				100*float64(done)/float64(run.Total()), rate))
			before, since = done, now
		}
	}
}
