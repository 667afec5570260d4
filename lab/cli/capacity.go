package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/lab/internal/slo"
	"paddock/lab/internal/sweep"
	"paddock/load"
)

// capacityCmd finds the highest rate that meets objectives. docs/guides/bench-compare.md is its
// guide.
type capacityCmd struct {
	httpTarget `embed:""`

	SLO     string  `name:"slo" required:"" placeholder:"LIST" help:"Objectives, such as \"p99<50ms,err<0.1%\". One of them is of times, or of the rate: rate>=0.99*target."`
	From    float64 `placeholder:"RATE" default:"100" help:"The first rate, in requests per second (default ${default})."`
	To      float64 `placeholder:"RATE" help:"The highest rate (default: up to the first that does not meet the objectives)."`
	Conns   int     `short:"c" placeholder:"N" default:"50" help:"Connections (default ${default})."`
	Poisson bool    `help:"Requests come as of independent users, instead of at equal distances."`

	runFlags `kong:"embed,set='repeat=3'"`
}

// Help describes the search and the exit codes.
func (*capacityCmd) Help() string {
	return `The rate is doubled until the objectives are not met; then the distance is halved down to 2 %. Each probe is a run of its own, of -d behind a warm-up of a second, and longer if the percentiles take more requests. It begins when a single request is answered as at the start, so that it does not measure the backlog of the probe before. At the boundary the majority of --repeat probes decides. A probe whose generator was the bottleneck never counts as met, unless --allow-red judges it by its numbers.

Exit codes: 0 found, 1 a failure of this side, 2 usage, 3 no rate meets the objectives, 4 the generator was the bottleneck, or nothing was measured, 130 interrupted.

    paddock bench capacity http://127.0.0.1:8080/ --slo "p99<50ms,err<0.1%"
    paddock bench capacity http://127.0.0.1:8080/ --slo "p99<50ms" --from 1000 --to 8000 --poisson --json`
}

// maxProbe is the longest probe that objectives of high percentiles may ask for.
const maxProbe = 10 * time.Minute

// Run searches, and prints the capacity.
func (b *capacityCmd) Run(ctx context.Context, c *Console) error {
	if !(b.From > 0 && b.From <= maxRate) || b.To != 0 && !(b.To >= b.From && b.To <= maxRate) {
		return usagef("--from %g --to %g: above 0, in this order, and up to %g", b.From, b.To, float64(maxRate))
	}
	objectives, err := slo.Parse(b.SLO)
	if err != nil {
		return usagef("--slo: %w", err)
	}
	needed, bound := uint64(0), false
	for _, o := range objectives {
		if o.Measure == slo.Quantile {
			needed = max(needed, load.Needed(o.Share))
		}
		bound = bound || o.Measure != slo.Err
	}
	if !bound {
		return usagef("--slo: one of the objectives is of response times, or rate>=0.99*target: without, a backlog that grows meets them")
	}
	if b.Warmup == 0 {
		b.Warmup = time.Second
	}
	p, ctx, err := b.prober(ctx, c, &b.runFlags)
	if err != nil {
		return err
	}
	defer p.release()
	if _, err := p.ready(b.load(b.From, needed)); err != nil {
		return err
	}
	number := 0
	search := sweep.Search{From: b.From, To: b.To, Repeat: b.Repeat, Probe: func(rate float64) (sweep.Probe, error) {
		number++
		return p.probe(ctx, b.load(rate, needed), fmt.Sprintf("probe-%02d", number))
	}}
	capacity, err := search.Run()
	if err != nil {
		return err
	}
	capacity.Title, capacity.Objectives = p.title, b.SLO
	if err := p.publish(capacity, "capacity.json"); err != nil {
		return err
	}
	switch {
	case capacity.Limit == sweep.ByGenerator:
		return unmeasuredError(errors.New(capacity.Sentence() + ": take more --threads, or a machine of its own; --allow-red judges the numbers as they are"))
	case capacity.Rate == nil:
		return missedError(errors.New(capacity.Sentence()))
	}
	return nil
}

// load is the load of a probe, which is long enough for so many requests.
func (b *capacityCmd) load(rate float64, needed uint64) loadFlags {
	l := loadFlags{Conns: b.Conns, Rate: arrivals(rate, b.Poisson), SLO: b.SLO}
	enough := time.Duration(min(1.1*float64(needed)/rate, maxProbe.Seconds()) * float64(time.Second))
	l.Duration = max(cmp.Or(b.Duration, defaultDuration), enough)
	return l
}

// probe makes a run of a load, and judges it.
func (p *prober) probe(ctx context.Context, l loadFlags, name string) (probe sweep.Probe, err error) {
	level, run, err := p.at(ctx, l, name)
	switch {
	case err != nil:
		return probe, err
	case run.Result.Stopped:
		return probe, interruptedError(errors.New("interrupted"))
	}
	probe = sweep.Probe{Level: level, Outcome: sweep.Met}
	missed, unknown := run.Missed()
	switch {
	case len(missed) > 0:
		probe.Outcome, probe.Why = sweep.Missed, missed[0].String()
	case level.Verdict == load.Red.String() && !p.AllowRed:
		probe.Outcome, probe.Why = sweep.Unknown, "the generator was the bottleneck"
	case len(unknown) > 0:
		probe.Outcome, probe.Why = sweep.Unknown, unknown[0].String()
	}
	return probe, nil
}
