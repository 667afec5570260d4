package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/lab/internal/distributed"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/report"
	"paddock/lab/internal/runfile"
	"paddock/load"
)

// workerCmd makes load for controllers on other machines. docs/guides/bench-http.md describes it.
type workerCmd struct {
	distributed.Bus `embed:""`
	Allow           []string `placeholder:"HOST:PORT,..." help:"Targets that a controller may name, besides those on loopback, which are always allowed."`
}

// Help describes what a worker does.
func (*workerCmd) Help() string {
	return `A worker waits at the NATS server for "paddock bench http --workers N --bus URL", makes its part of the load, sends its counts each second, and waits again. It takes part in one run at a time, and tells other controllers that it is busy. It stops when its controller has not been heard for 10 s, and ends at SIGTERM.

It refuses a NATS server beyond loopback that asks for no credentials, targets beyond loopback that --allow does not list, and jobs beyond its bounds. It runs no scripts and reads no files for a controller.

    paddock bench worker --bus nats://bench:SECRET@10.0.0.1:4222 --allow 10.0.0.5:8080`
}

// Run serves until a signal ends it.
func (b *workerCmd) Run(ctx context.Context, c *Console) error {
	if b.Server == "" {
		return usagef("--bus is missing: the NATS server over which controllers are heard")
	}
	ctx, release := interruptible(ctx)
	defer release()
	defer c.leanHeap(leanGC)()
	nc, err := b.Connect("worker")
	if err != nil {
		return err
	}
	defer nc.Close()
	return distributed.NewWorker(nc, b.Allow, func(line string) { fmt.Fprintln(c.Stderr, line) }).Serve(ctx)
}

// workersFlags are the flags of a controller.
type workersFlags struct {
	Workers         int `placeholder:"N" help:"Have so many workers make the load together, as one process with --threads threads for each of them does: see paddock bench worker."`
	distributed.Bus `embed:""`
	Missing         string `enum:"abort,continue" placeholder:"WHAT" default:"abort" complete:"abort,continue" help:"When a worker is lost, the run ends (abort) or goes on with the others (continue); the report names it, and the exit code is 4 (default ${default})."`
}

// fromWorkers makes a run with workers, and prints its report.
func (b *httpCmd) fromWorkers(ctx context.Context, c *Console, run *loadRun, job *distributed.Job) error {
	switch {
	case b.Workers < 0 || b.Workers > distributed.MaxWorkers:
		return usagef("--workers %d: 1 to %d", b.Workers, distributed.MaxWorkers)
	case b.Bus.Server == "":
		return usagef("--workers takes --bus: the NATS server at which workers wait")
	case b.Unix != "" || b.CACert != "" || b.Cert != "":
		return usagef("--unix, --cacert and --cert name files of this machine, which workers do not have")
	}
	if run.plan.TLS != nil {
		job.ServerName = run.plan.TLS.ServerName
	}
	run.plan.Threads *= b.Workers
	if err := run.plan.Check(); err != nil {
		return usageError(err)
	}
	job.Plan, job.Rate = run.plan, b.Rate
	nc, err := b.Connect("controller")
	if err != nil {
		return err
	}
	defer nc.Close()
	var last *distributed.Report
	missing := ""
	run.elsewhere = func(ctx context.Context, observer load.Observer) (*load.Result, error) {
		last, err = distributed.Run(ctx, nc, distributed.Config{Job: job, Workers: b.Workers, Continue: b.Missing == "continue"}, observer)
		if err != nil {
			return nil, unmeasuredError(err)
		}
		missing = cmp.Or(missing, last.Missing)
		return last.Result, nil
	}
	run.account = func(r *report.Run) error {
		r.Document.Workers = last.Workers
		r.Document.Facts = append(r.Document.Facts, workerFacts(last)...)
		return nil
	}
	if err = run.run(ctx, c); missing != "" && rank(err) <= rank(unmeasuredError(nil)) {
		return unmeasuredError(errors.New(missing))
	}
	return err
}

// workerFacts are the lines of a report about workers.
func workerFacts(r *distributed.Report) (facts []runfile.Fact) {
	for _, w := range r.Workers {
		text := fmt.Sprintf("%s: %s, %d of the threads on %d processors, %s answers; clock %s ahead (±%s, drift %s), began %s late", w.Name, w.State,
			w.Threads, w.Cores, figure.Count(w.Done), figure.Time(time.Duration(w.Offset)), figure.Time(time.Duration(w.OffsetError)),
			figure.Time(time.Duration(w.Drift)), figure.Time(time.Duration(w.Skew)))
		if w.Verdict != "" {
			text += ", " + w.Verdict
		}
		facts = append(facts, runfile.Fact{Name: "worker", Text: text})
	}
	if r.Missing != "" {
		facts = append(facts, runfile.Fact{Name: "MISSING", Text: r.Missing})
	}
	if r.Shared {
		facts = append(facts, runfile.Fact{Name: "bus", Text: "WARNING: workers were controlled over the service under test, which adds to its load and may delay the counts"})
	}
	return facts
}
