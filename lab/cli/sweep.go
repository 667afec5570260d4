package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/report"
	"paddock/lab/internal/slo"
	"paddock/lab/internal/sweep"
	"paddock/load"
)

// sweepCmd measures a service at several loads. docs/guides/bench-compare.md is its guide.
type sweepCmd struct {
	httpTarget `embed:""`

	Conns   string `short:"c" placeholder:"LIST" help:"Numbers of connections, with a run of each (default 1,2,5,10,20,50,100). With --rates it is one number (default 50)."`
	Rates   string `placeholder:"LIST" help:"Requests per second instead, with a run of each: 1000,2000,4000."`
	Poisson bool   `help:"With --rates, requests come as of independent users, instead of at equal distances."`

	runFlags `embed:""`
}

// Help describes the judgement and the exit codes.
func (*sweepCmd) Help() string {
	return `Each load is a run of its own, of -d, from an idle service: a single request is answered as at the start before the next one begins. --repeat makes rounds, every other one from the highest load down.

Over connections, the universal scalability law is fitted to the rates, with intervals of 95 %: lambda is the rate of one connection, sigma the part done one after another, kappa the cost of each pair. Where a rate is far from the law, the report says so. Runs whose generator was the bottleneck are left out, unless --allow-red.

Exit codes: 0 measured, 1 a failure of this side, 2 usage, 4 no load was measured, 130 interrupted.

    paddock bench sweep http://127.0.0.1:8080/ -d 10s
    paddock bench sweep http://127.0.0.1:8080/ --rates 500,1000,2000,4000 --out DIR`
}

const (
	maxLevels = 64  // runs of a sweep, as many as a page has
	maxRate   = 1e8 // requests per second
)

// Run makes the runs and prints the result.
func (b *sweepCmd) Run(ctx context.Context, c *Console) error {
	loads, err := b.loads()
	if err != nil {
		return usageError(err)
	}
	if len(loads)*b.Repeat > maxLevels {
		return usagef("%d loads and --repeat %d: more than %d runs", len(loads), b.Repeat, maxLevels)
	}
	p, ctx, err := b.prober(ctx, c, &b.runFlags)
	if err != nil {
		return err
	}
	defer p.release()
	for _, l := range loads { // mistakes are found before the first run
		if _, err := p.ready(l); err != nil {
			return err
		}
	}
	result, err := b.sweep(ctx, p, loads)
	if len(result.Levels) > 0 { // although a later run may have failed
		if err := p.publish(result, "sweep.json"); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return interruptedError(errors.New("interrupted"))
	case err != nil:
		return err
	case !result.Measured():
		return unmeasuredError(errors.New("at no load was the service measured: take more --threads, less load or a machine of its own; --allow-red takes the numbers as they are"))
	}
	return nil
}

// sweep makes the runs, up to the first that fails.
func (b *sweepCmd) sweep(ctx context.Context, p *prober, loads []loadFlags) (*sweep.Result, error) {
	var levels []sweep.Level
	var err error
	for round := range b.Repeat {
		for _, l := range loads {
			if err != nil || ctx.Err() != nil {
				break
			}
			name := levelName(l)
			if round > 0 {
				name = fmt.Sprintf("round-%d-%s", round+1, name)
			}
			var level sweep.Level
			if level, _, err = p.at(ctx, l, name); err == nil {
				levels = append(levels, level)
			}
		}
		slices.Reverse(loads)
	}
	slices.SortStableFunc(levels, sweep.ByLoad)
	return sweep.New(p.title, levels, b.AllowRed), err
}

// levelName is the directory of a load's run.
func levelName(l loadFlags) string {
	if l.Rate == "" {
		return "c-" + strconv.Itoa(l.Conns)
	}
	return "rate-" + strings.TrimSuffix(strings.TrimPrefix(l.Rate, "poisson "), "/s")
}

// loads are the loads of the sweep, the lightest first.
func (b *sweepCmd) loads() (all []loadFlags, err error) {
	conns := []float64{1, 2, 5, 10, 20, 50, 100}
	if b.Rates != "" {
		conns = []float64{50}
	}
	if b.Conns != "" {
		if conns, err = numbers(b.Conns, 1e6); err != nil {
			return nil, fmt.Errorf("--conns: %w", err)
		}
	}
	for _, n := range conns {
		if n != float64(int(n)) {
			return nil, fmt.Errorf("--conns: %g is no whole number", n)
		}
	}
	switch {
	case b.Rates == "" && b.Poisson:
		return nil, errors.New("--poisson is about --rates")
	case b.Rates == "":
		for _, n := range conns {
			all = append(all, loadFlags{Conns: int(n)})
		}
		return all, nil
	case len(conns) > 1:
		return nil, errors.New("--conns is one number with --rates")
	}
	rates, err := numbers(b.Rates, maxRate)
	if err != nil {
		return nil, fmt.Errorf("--rates: %w", err)
	}
	for _, rate := range rates {
		all = append(all, loadFlags{Conns: int(conns[0]), Rate: arrivals(rate, b.Poisson)})
	}
	return all, nil
}

// arrivals is the --rate of so many requests per second.
func arrivals(rate float64, poisson bool) string {
	text := strconv.FormatFloat(rate, 'f', -1, 64) + "/s"
	if poisson {
		return "poisson " + text
	}
	return text
}

// numbers reads numbers above 0 with commas between them, and sorts them.
func numbers(text string, most float64) (all []float64, err error) {
	for _, part := range strings.Split(text, ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(f > 0 && f <= most) {
			return nil, fmt.Errorf("%q is no number above 0 and up to %g", part, most)
		}
		all = append(all, f)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxLevels {
		return nil, fmt.Errorf("%d numbers, of at most %d", len(all), maxLevels)
	}
	return all, nil
}

// prober makes runs of one service, each from rest.
type prober struct {
	*runFlags
	c       *Console
	release func()
	title   string
	plan    load.Plan
	alone   time.Duration // the least response time of a single request; 0 = not known
}

// prober returns the prober of a service; its release ends the catching of signals.
func (b *httpTarget) prober(ctx context.Context, c *Console, flags *runFlags) (*prober, context.Context, error) {
	p := &prober{runFlags: flags, c: c}
	var err error
	if p.title, p.plan, _, err = b.plan(c, flags.Seed); err != nil {
		return nil, nil, usageError(err)
	}
	ctx, p.release = interruptible(ctx)
	return p, ctx, nil
}

// ready makes a load with the flags of all runs ready.
func (p *prober) ready(l loadFlags) (*loadRun, error) {
	length := l.Duration
	l.runFlags = *p.runFlags
	l.Duration, l.Repeat, l.Out = cmp.Or(length, l.Duration), 1, ""
	if p.Repeat < 1 || p.Repeat > maxRepeat {
		return nil, usagef("--repeat %d: 1 to %d", p.Repeat, maxRepeat)
	}
	return l.prepare(p.title, p.plan)
}

// at makes a run of a load, once the service is at rest, in a directory of --out.
func (p *prober) at(ctx context.Context, l loadFlags, name string) (level sweep.Level, run *report.Run, err error) {
	r, err := p.ready(l)
	if err != nil {
		return level, nil, err
	}
	if err := p.rest(ctx); err != nil {
		return level, nil, err
	}
	if !p.Quiet {
		fmt.Fprintf(p.c.Stderr, "%s\n", describe(&r.plan, r.plan.Engine))
	}
	out := ""
	if p.Out != "" {
		out = filepath.Join(p.Out, name)
	}
	if run, err = r.once(ctx, p.c, p.release, out); err == nil && out != "" {
		err = run.WriteFiles(out)
	}
	if err != nil {
		return level, nil, err
	}
	failed, all := slo.Failures(run.Result)
	return sweep.LevelOf(run.Document, slo.Target(run.Result), float64(failed)/float64(max(all, 1)), out), run, nil
}

// publish prints a result, and writes it and a page of all runs to --out.
func (p *prober) publish(r result, name string) error {
	if err := p.c.print(r, p.JSON); err != nil || p.Out == "" {
		return err
	}
	return errors.Join(writeSummary(filepath.Join(p.Out, name), r), writeReport([]string{p.Out}, filepath.Join(p.Out, "report.html")))
}

// maxRests bounds the single requests before a run, and maxLost those without an answer. A backlog
// takes one of them, however long it is, where requests are answered in turns.
const (
	maxRests = 20
	maxLost  = 3
)

// rest sends single requests until one is answered about as fast as the fastest of them so far, and
// at the start three, so that no run measures the backlog of another. Each of them is waited for up
// to its timeout.
func (p *prober) rest(ctx context.Context) error {
	last, needed := "", 1
	if p.alone == 0 {
		needed = 3
	}
	for answered, lost := 0, 0; answered+lost < maxRests && lost < maxLost; {
		flags := loadFlags{Conns: 1, runFlags: *p.runFlags}
		flags.Duration, flags.Warmup, flags.Count, flags.Threads, flags.Depth, flags.Quiet, flags.Out, flags.Repeat = 0, 0, 1, 1, 1, true, "", 1
		flags.Busy, flags.MaxConns, flags.Deadline, flags.Grace = "queue", 0, 0, flags.Timeout
		r, err := flags.prepare(p.title, p.plan)
		if err != nil {
			return err
		}
		run, err := r.once(ctx, p.c, p.release, "")
		if err != nil {
			return err
		}
		if run.Result.Total.Done == 0 {
			lost++
			last = "a single request had no answer"
			continue
		}
		answered++
		took := run.Result.Total.Response.Max()
		if p.alone == 0 || took < p.alone {
			p.alone = took
		}
		if took <= 2*p.alone+restSlack && answered >= needed {
			return nil
		}
		last = fmt.Sprintf("a single request takes %s, and took %s once", figure.Time(took), figure.Time(p.alone))
	}
	if !p.Quiet {
		fmt.Fprintf(p.c.Stderr, "the service is not at rest: %s\n", last)
	}
	return nil
}

// restSlack is by how much a single request may take longer on any machine.
const restSlack = 2 * time.Millisecond
