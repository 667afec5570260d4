package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"paddock/internal/process/version"
	"paddock/lab/internal/persona/ab"
	"paddock/lab/internal/persona/getopt"
	"paddock/lab/internal/report"
	"paddock/lab/internal/runfile"
)

// abCmd is ApacheBench. Its flags are in lab/internal/persona/ab, because kong does not parse the
// forms that ab accepts. docs/reference/bench-ab.md is its guide.
type abCmd struct {
	Args []string `arg:"" optional:"" help:"The flags of ab, and the URL."`
}

// Flags returns the flags that the command parses itself.
func (*abCmd) Flags() getopt.Flags { return new(ab.Options).Flags() }

// Help lists the flags.
func (b *abCmd) Help() string {
	var text strings.Builder
	text.WriteString("    paddock bench ab -n 50000 -c 20 -k http://127.0.0.1:8080/\n\nFlags, in any of the forms -c 20, -c20, -c=20, -kc 20:\n\n")
	_ = b.Flags().WriteHelp(&text) // to memory
	text.WriteString(`
Of ab's other flags -b -B -f -E -I -Z -w -x -y -z are not here, each with an error that says what is there instead.

First comes the report of ab, with its definitions of every number; then what was measured, with percentiles that say what they mean, errors by class and a verdict on the generator's own part.

Exit codes, as of ab: 0 the run came to its end, whatever came of the requests, 1 it was given up or interrupted, or a failure of this side. 2 is usage.`)
	return text.String()
}

// Run makes the run and prints both reports.
func (b *abCmd) Run(ctx context.Context, parser *kong.Kong, c *Console) error {
	o, err := ab.Parse(b.Args)
	switch {
	case err != nil:
		return usagef("%w\nRun \"paddock bench ab -h\" for usage.", err)
	case o.Help:
		return help(parser, "ab")
	case o.Version:
		_, err := fmt.Fprintf(c.Stdout, "This is paddock %s, in the form of ApacheBench 2.3\n", version.Get().Version)
		return err
	}
	request, err := b.request(o)
	if err != nil {
		return usageError(err)
	}
	return plainly(b.measure(ctx, c, o, request))
}

// request makes the request to send.
func (*abCmd) request(o *ab.Options) (*ab.Request, error) {
	var body []byte
	for _, file := range []struct{ flag, name string }{{"-p", o.PostFile}, {"-u", o.PutFile}} {
		if file.name == "" {
			continue
		}
		var err error
		if body, err = os.ReadFile(file.name); err != nil {
			return nil, fmt.Errorf("%s: %w", file.flag, err)
		}
	}
	return o.Request(body)
}

func (b *abCmd) measure(ctx context.Context, c *Console, o *ab.Options, request *ab.Request) error {
	ctx, release := interruptible(ctx)
	defer release()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	text, progress := c.Stdout, c.Stderr
	if o.JSON {
		text, progress = io.Discard, io.Discard
	}
	recorder := ab.NewRecorder(o, progress, func(err error) { stop(unmeasuredError(err)) })
	run := &loadRun{
		loadFlags: loadFlags{JSON: o.JSON, Out: o.Out, Quiet: true, Repeat: 1},
		title:     runfile.Redact([]string{o.String()})[0], plan: recorder.Plan(request), also: recorder,
	}
	if err := run.plan.Check(); err != nil {
		return usageError(err)
	}
	if err := errors.Join(o.WriteStart(text, version.Get().Version), o.WriteRequest(text, request)); err != nil {
		return err
	}
	safe := *c
	safe.Args = o.Hide(c.Args)
	measured, err := run.once(ctx, &safe, release, o.Out)
	if err != nil {
		return err
	}
	if given, ok := errors.AsType[exitError](context.Cause(ctx)); ok {
		fmt.Fprintf(c.Stderr, "Total of %d requests completed\n", recorder.Done())
		return given
	}
	recorder.Finish()
	return b.report(c, text, run, measured, recorder.Report(measured.Result), o)
}

// report prints ab's report and ours, and writes the files.
func (*abCmd) report(c *Console, text io.Writer, run *loadRun, measured *report.Run, as *ab.Report, o *ab.Options) error {
	if err := as.WriteText(text); err != nil {
		return err
	}
	kept, err := as.WriteFiles()
	if err != nil {
		return err
	}
	if done := as.Done(); o.Gnuplot != "" && kept < done {
		fmt.Fprintf(c.Stderr, "%s has the first %d of %d requests\n", o.Gnuplot, kept, done)
	}
	fmt.Fprint(text, "\n\n")
	measured.Document.Columns = as.Columns()
	if err := run.publish(c, measured, 1); err != nil {
		return err
	}
	if measured.Result.Stopped {
		return interruptedError(errors.New("interrupted"))
	}
	return nil
}
