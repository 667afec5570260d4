package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/internal/results"
)

// ErrMissed is the outcome of a run under --strict that misses a bar, or fails
// to measure one.
var ErrMissed = errors.New("a bar was missed")

// Listed is a peer as --list shows it.
type Listed struct {
	Name  string
	About string // version and settings, one line
}

// Program is the command line of a comparison.
type Program struct {
	Name  string
	Goals func() []Goal // asked once the flags are known
	Peers []Listed

	// Rounds, Duration and Warmup are the defaults of the flags of those names.
	Rounds           int
	Duration, Warmup time.Duration

	// Flags, if set, adds the comparison's own flags.
	Flags func(*flag.FlagSet)

	// Dir, if set, gets a folder to keep files in before anything is measured, which is
	// removed behind the run. Others may read it: the workers of some servers run as another user.
	Dir *string

	// Describe, if set, returns a line about the measured data, once the flags are known.
	Describe func() (string, error)

	// Measure takes a turn, see [Runner].
	Measure func(ctx context.Context, t Turn) (*measure.Measurement, error)
}

// options are the flags that every comparison has.
type options struct {
	only, peers            []string
	rounds                 int
	duration, warmup       time.Duration
	jsonFile, summary      string
	profile                string
	strict, list, progress bool
}

// Run runs the program; args are those after its name.
func (p *Program) Run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := p.parse(args, stderr)
	if err != nil {
		return err
	}
	if o.list {
		return p.list(stdout)
	}
	goals, err := Select(p.Goals(), o.only, o.peers)
	if err != nil {
		return err
	}
	remove, err := p.makeDir()
	if err != nil {
		return err
	}
	return errors.Join(p.compare(ctx, o, goals, args, stdout, stderr), remove())
}

func (p *Program) makeDir() (remove func() error, err error) {
	if p.Dir == nil {
		return func() error { return nil }, nil
	}
	if *p.Dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	remove = func() error { return os.RemoveAll(*p.Dir) }
	if err := os.Chmod(*p.Dir, 0o755); err != nil {
		return nil, errors.Join(err, remove())
	}
	return remove, nil
}

func (p *Program) parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	var only, names string
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&only, "only", "", "run these goals alone, separated by commas")
	flags.StringVar(&names, "peers", "", "run these peers alone, separated by commas; a ratio needs its base among them")
	flags.IntVar(&o.rounds, "rounds", p.Rounds, "how often each contender has its turn")
	flags.DurationVar(&o.duration, "duration", p.Duration, "length of a window")
	flags.DurationVar(&o.warmup, "warmup", p.Warmup, "the warm-up before each window")
	flags.StringVar(&o.jsonFile, "json", "", "write the result with every sample to this file")
	flags.StringVar(&o.summary, "summary", "", "write the ratios, without the samples, to this file, as docs/results keeps them")
	flags.StringVar(&o.profile, "profile", "", "write CPU profiles of both ends of each measurement into this directory")
	flags.BoolVar(&o.strict, "strict", false, "fail if a bar is missed, or was not measured")
	flags.BoolVar(&o.list, "list", false, "list goals, bars and peers")
	flags.BoolVar(&o.progress, "progress", true, "print progress on stderr")
	if p.Flags != nil {
		p.Flags(flags)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 1 || o.duration <= 0 || o.warmup <= 0 {
		return nil, errors.New("--rounds, --duration and --warmup must be above zero")
	}
	o.only, o.peers = split(only), split(names)
	return o, p.checkPeers(o.peers)
}

func (p *Program) checkPeers(names []string) error {
	known := make([]string, len(p.Peers))
	for i, peer := range p.Peers {
		known[i] = peer.Name
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("no peer %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func (p *Program) list(w io.Writer) error {
	goals := p.Goals()
	width := 10
	for _, g := range goals {
		width = max(width, len(g.Name))
	}
	fmt.Fprintln(w, "goals:")
	for _, g := range goals {
		fmt.Fprintf(w, "  %-*s %s\n", width, g.Name, g.Title)
		for _, bar := range g.Bars {
			fmt.Fprintf(w, "  %-*s %s\n", width, "", bar.Rule())
		}
	}
	fmt.Fprintln(w, "peers:")
	for _, peer := range p.Peers {
		if _, err := fmt.Fprintf(w, "  %-*s %s\n", width, peer.Name, peer.About); err != nil {
			return err
		}
	}
	return nil
}

// compare runs the goals, each with its table as soon as it is done.
func (p *Program) compare(ctx context.Context, o *options, goals []Goal, args []string, stdout, stderr io.Writer) error {
	runner, err := p.runner(o, stderr)
	if err != nil {
		return err
	}
	result := &Result{Head: results.NewHead(o.rounds, o.duration, o.warmup)}
	result.Command = append(strings.Fields(p.Name), args...)
	if err := result.WriteHeader(stdout); err != nil {
		return err
	}
	if err := p.describe(result, stdout); err != nil {
		return err
	}
	for _, g := range goals {
		samples, err := runner.Run(ctx, &g)
		if err != nil {
			return err
		}
		result.Samples = append(result.Samples, samples...)
		result.Verdicts = append(result.Verdicts, Judge(&g, samples)...)
		result.Ratios = append(result.Ratios, Ratios(&g, samples)...)
		if err := WriteTable(stdout, &g, samples); err != nil {
			return err
		}
	}
	return conclude(o, result)
}

// describe adds the description to the header and to the result.
func (p *Program) describe(result *Result, stdout io.Writer) (err error) {
	if p.Describe == nil {
		return nil
	}
	if result.Subject, err = p.Describe(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, result.Subject)
	return err
}

func (p *Program) runner(o *options, stderr io.Writer) (*Runner, error) {
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o777); err != nil {
			return nil, err
		}
	}
	runner := &Runner{
		Rounds:  o.rounds,
		Profile: o.profile,
		Options: measure.Options{Warmup: o.warmup, Duration: o.duration},
		Measure: p.Measure,
	}
	if o.progress {
		runner.Progress = func(g *Goal, round int, c Contender) {
			fmt.Fprintf(stderr, "%s, round %d of %d: %s\n", g.Name, round+1, o.rounds, c.Name)
		}
	}
	return runner, nil
}

// conclude writes the files. With --strict a missed bar is an error.
func conclude(o *options, result *Result) error {
	if o.jsonFile != "" {
		if err := result.write(o.jsonFile); err != nil {
			return err
		}
	}
	if o.summary != "" {
		summary := *result
		summary.Verdicts, summary.Samples = nil, nil
		if err := summary.write(o.summary); err != nil {
			return err
		}
	}
	for _, v := range result.Verdicts {
		if o.strict && !v.Met {
			return fmt.Errorf("%s: %w", v.Of, ErrMissed)
		}
	}
	return nil
}
