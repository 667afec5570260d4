package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"paddock/internal/process/terminal"
	"paddock/internal/process/version"
	"paddock/lab/internal/persona/getopt"
	"paddock/lab/internal/persona/wrk"
	"paddock/lab/internal/persona/wrk/script"
	"paddock/lab/internal/report"
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/http1"
)

// wrkCmd measures a service the way wrk does. Its flags are in lab/internal/persona/wrk, because
// kong does not parse the forms that wrk accepts. docs/reference/bench-wrk.md is its guide.
type wrkCmd struct {
	Args []string `arg:"" optional:"" help:"The flags of wrk, and the URL."`
}

// Flags returns the flags that the command parses itself.
func (*wrkCmd) Flags() getopt.Flags { return new(wrk.Options).Flags() }

// Help lists the flags.
func (b *wrkCmd) Help() string {
	var text strings.Builder
	text.WriteString("    paddock bench wrk -t1 -c50 -d30s --latency http://127.0.0.1:8080/\n    paddock bench wrk -c50 -d5m --bodies requests.jsonl http://127.0.0.1:8080/v1/search\n\nFlags:\n\n")
	_ = b.Flags().WriteHelp(&text) // to memory
	text.WriteString(`
Numbers take k, M and G; times are whole seconds, or take m and h.

First comes wrk's block of text, whose Latency is as it was measured; Latency(wrk) is what wrk would have printed there. Then comes the report, with percentiles, errors by class and a verdict on the generator's own part.

Exit codes: with --slo those of "paddock bench http"; else, as of wrk, 0 for every run, 1 if the service cannot be reached. A mistake of a script is one of usage, 2.`)
	return text.String()
}

// Run makes the run and prints both reports.
func (b *wrkCmd) Run(ctx context.Context, parser *kong.Kong, c *Console) error {
	o, err := wrk.Parse(b.Args, c.variable("WRK_BODIES"))
	if err != nil {
		return usagef("%w\nRun \"paddock bench wrk -h\" for usage.", err)
	}
	if o.Help {
		return help(parser, "wrk")
	}
	r := &wrkRun{o: o, out: c.Stdout, blockTo: c.Stdout}
	if o.JSON {
		r.out, r.blockTo = c.Stderr, io.Discard
	}
	if o.Version {
		fmt.Fprintf(r.out, "paddock %s, with the flags of wrk 4.1.0\n", version.Get().Version)
	}
	run, err := r.prepare(c)
	defer r.stop()
	if err != nil {
		return scriptError(err)
	}
	return r.measure(ctx, c, run)
}

// wrkRun is a run whose requests and text are those of wrk.
type wrkRun struct {
	o       *wrk.Options
	out     io.Writer // of scripts
	blockTo io.Writer

	script   *script.Script // nil = there is none
	undo     func()         // restores the GC setting; nil = not changed
	recorder *wrk.Recorder
}

// prepare turns the flags into a run. Every error is a mistake in the command line or the
// script.
func (r *wrkRun) prepare(c *Console) (*loadRun, error) {
	plan, err := r.plan(c)
	if err != nil {
		return nil, err
	}
	r.recorder = wrk.NewRecorder(plan.Duration)
	o := r.o
	run := &loadRun{
		loadFlags: loadFlags{SLO: o.SLO, runFlags: runFlags{AllowRed: o.AllowRed, JSON: o.JSON, Out: o.Out, Quiet: o.Quiet, Repeat: 1}},
		title:     r.title(), plan: plan, also: load.Observers{r, r.recorder},
	}
	if r.script != nil {
		run.heap = scriptGC
	}
	if terminal.Columns(c.Stderr) == nil {
		run.Quiet = true // wrk's users read both streams as one
	}
	return run, errors.Join(run.readObjectives(), run.plan.Check())
}

// plan returns the load that wrk would make.
func (r *wrkRun) plan(c *Console) (load.Plan, error) {
	plan, secure, err := r.o.Plan()
	if err != nil {
		return plan, err
	}
	if secure {
		if plan.TLS, err = (&httpTarget{URL: r.o.URL, Insecure: true}).tls(); err != nil {
			return plan, err
		}
	}
	request, err := r.o.Request()
	if err != nil {
		return plan, err
	}
	if r.o.Script != "" {
		return plan, r.load(c, request.Header, &plan)
	}
	requests, err := r.requests(c, request)
	plan.Codec = &http1.Codec{Requests: requests}
	return plan, err
}

// requests makes the requests to send without a script.
func (r *wrkRun) requests(c *Console, request http1.Request) (http1.Requests, error) {
	if r.o.Bodies == "" {
		arena := &http1.Arena{}
		return arena, arena.Add(&request)
	}
	bodies, err := readBodies(c, r.o.Bodies)
	if err != nil {
		return nil, fmt.Errorf("bodies of %s: %w", r.o.Bodies, err)
	}
	return r.o.Cycle(request, bodies.List)
}

// load loads the script.
func (r *wrkRun) load(c *Console, header []http1.Field, plan *load.Plan) error {
	r.undo = c.leanHeap(scriptGC)
	text, err := os.ReadFile(r.o.Script)
	if err != nil {
		return fmt.Errorf("--script: %w", err)
	}
	s, err := script.Load(r.o.Script, string(text), script.Options{
		URL: r.o.URL, Args: r.o.Args, Header: header, Threads: plan.Threads, Inline: r.o.Inline, Seed: plan.Seed, Print: r.out,
	})
	if errors.Is(err, script.ErrResponse) {
		return fmt.Errorf("%w. --lua-inline runs it there, and is slow", err)
	}
	if err != nil {
		return err
	}
	r.script, plan.Depth = s, s.Depth()
	to, err := s.Address()
	plan.Address, plan.Codec = cmp.Or(to, plan.Address), s.Codec()
	return err
}

// title names the target, without secrets.
func (r *wrkRun) title() string {
	switch to := runfile.Redact([]string{r.o.URL})[0]; {
	case r.script != nil:
		return r.script.Title() + to
	case r.o.Bodies != "":
		return "POST bodies to " + to
	default:
		return "GET " + to
	}
}

// stop ends the script's work.
func (r *wrkRun) stop() {
	if r.script != nil {
		r.script.Stop()
	}
	if r.undo != nil {
		r.undo()
	}
}

// measure makes the run, which ends early if the script fails, and tells of it.
func (r *wrkRun) measure(ctx context.Context, c *Console, run *loadRun) error {
	ctx, release := interruptible(ctx)
	defer release()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.script != nil {
		defer context.AfterFunc(r.script.Failing(), cancel)()
	}
	measured, err := run.once(ctx, c, release, run.Out)
	if failed := r.failed(); failed != nil && (err == nil || ctx.Err() != nil) {
		return failed
	}
	switch {
	case err != nil && r.o.SLO == "":
		return plainly(err)
	case err != nil:
		return err
	case r.o.SLO == "":
		return r.report(c, run, measured)
	}
	return errors.Join(r.report(c, run, measured), run.judge(measured))
}

// failed is the script's failure during the run.
func (r *wrkRun) failed() error {
	if r.script == nil {
		return nil
	}
	return scriptError(r.script.Err())
}

// scriptError is a mistake of a script, which may end the process as it likes.
func scriptError(err error) error {
	if _, exits := errors.AsType[*script.ExitError](err); exits || err == nil {
		return err
	}
	return usageError(err)
}

// Watch prints wrk's first lines, once the service has been found to be there.
func (r *wrkRun) Watch(func() load.Progress) {
	_ = r.o.WriteStart(r.blockTo, runfile.Redact([]string{r.o.URL})[0]) // a broken pipe shows at the end
}

// Interval is nothing to it.
func (*wrkRun) Interval(*load.Interval) {}

// report prints wrk's block and the report, and writes the files.
func (r *wrkRun) report(c *Console, run *loadRun, measured *report.Run) error {
	block := r.recorder.Block(measured.Result, r.o.Conns)
	measured.Document.Columns = block.Columns()
	if err := r.o.Shown(block).Write(r.blockTo); err != nil {
		return err
	}
	if err := r.done(block, measured); err != nil {
		return err
	}
	if !r.o.Block {
		fmt.Fprintln(r.blockTo)
		return run.publish(c, measured, 1)
	}
	if r.o.Out == "" {
		return nil
	}
	return measured.WriteFiles(r.o.Out)
}

// done calls the script's done().
func (r *wrkRun) done(block *wrk.Block, run *report.Run) error {
	if r.script == nil {
		return nil
	}
	r.script.Stop()
	total, verdict := &run.Result.Total, load.Judge(run.Plan, run.Result)
	return scriptError(r.script.Done(block, script.Truth{
		Response: block.Latency, Service: wrk.FromHistogram(total.Service, 0), Lag: wrk.FromHistogram(total.Lag, 0),
		Verdict: verdict.Level.String(), Unanswered: run.Result.Unanswered.Count + run.Result.Unanswered.Unsent,
	}))
}
