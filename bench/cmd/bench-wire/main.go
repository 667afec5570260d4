// Command bench-wire compares wire with what else carries messages between two
// processes. It runs itself again as each contender's server; `bench-wire --list`
// names the goals and contenders.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"paddock/bench/internal/drive"
	"paddock/bench/internal/harness"
	"paddock/bench/internal/peers"
)

// errMissed is the outcome of a run under --strict that misses a bar, or fails
// to measure one.
var errMissed = errors.New("a bar was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench-wire: %v\n", err)
		os.Exit(1)
	}
}

// run is the program. args[0] is the program to run again as the server.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 1 && args[1] == "serve" {
		return serve(args[2:], stdin, stdout)
	}
	if len(args) > 2 && args[1] == "relay" {
		signal.Ignore(os.Interrupt) // as serve
		return harness.ServeRelay(args[2], stdin, stdout)
	}
	o, err := parse(args[1:], stderr)
	if err != nil {
		return err
	}
	if o.list {
		return list(stdout)
	}
	return compare(ctx, o, args, stdout, stderr)
}

// serve is the server's process: serve PEER [tls].
func serve(args []string, stdin io.Reader, stdout io.Writer) error {
	// An interrupt of the terminal goes to both processes; this one lives as
	// long as its input.
	signal.Ignore(os.Interrupt)
	if len(args) == 0 {
		return errors.New("serve: which peer?")
	}
	peer, err := peers.Find(args[0])
	if err != nil {
		return err
	}
	return harness.Serve(peer, len(args) > 1 && args[1] == "tls", stdin, stdout)
}

// options are the flags.
type options struct {
	only, peers            []string
	rounds                 int
	duration, warmup       time.Duration
	jsonFile, profile      string
	strict, list, progress bool
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	var only, names string
	flags := flag.NewFlagSet("bench-wire", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&only, "only", "", "run these goals alone, separated by commas")
	flags.StringVar(&names, "peers", "", "run these peers alone, separated by commas; a ratio needs its base among them")
	flags.IntVar(&o.rounds, "rounds", 5, "how often each contender has its turn")
	flags.DurationVar(&o.duration, "duration", time.Second, "length of a window")
	flags.DurationVar(&o.warmup, "warmup", 250*time.Millisecond, "what precedes each window")
	flags.StringVar(&o.jsonFile, "json", "", "write the result with every sample to this file")
	flags.StringVar(&o.profile, "profile", "", "write CPU profiles of both ends of each measurement into this directory")
	flags.BoolVar(&o.strict, "strict", false, "fail if a bar is missed, or was not measured")
	flags.BoolVar(&o.list, "list", false, "list goals, bars and peers")
	flags.BoolVar(&o.progress, "progress", true, "say on stderr what is running")
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
	for _, name := range o.peers {
		if _, err := peers.Find(name); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func list(w io.Writer) error {
	fmt.Fprintln(w, "goals:")
	for _, g := range harness.Goals() {
		fmt.Fprintf(w, "  %-10s %s\n", g.Name, g.Title)
		for _, bar := range g.Bars {
			fmt.Fprintf(w, "  %-10s %s\n", "", bar.Rule())
		}
	}
	fmt.Fprintln(w, "peers:")
	for _, p := range peers.All() {
		if _, err := fmt.Fprintf(w, "  %-10s %s\n", p.Name, p.About); err != nil {
			return err
		}
	}
	return nil
}

// compare runs the goals, each with its table as soon as it is done.
func compare(ctx context.Context, o *options, args []string, stdout, stderr io.Writer) error {
	goals, err := harness.Select(harness.Goals(), o.only, o.peers)
	if err != nil {
		return err
	}
	runner, err := newRunner(o, stderr)
	if err != nil {
		return err
	}
	result := &harness.Result{
		Date: time.Now().UTC(), Machine: harness.ThisMachine(), Command: append([]string{"bench-wire"}, args[1:]...),
		Rounds: o.rounds, Duration: o.duration.String(), Warmup: o.warmup.String(),
	}
	if err := result.WriteHeader(stdout); err != nil {
		return err
	}
	for _, g := range goals {
		samples, err := runner.Run(ctx, &g)
		if err != nil {
			return err
		}
		result.Samples = append(result.Samples, samples...)
		result.Verdicts = append(result.Verdicts, harness.Judge(&g, samples)...)
		if err := harness.WriteTable(stdout, &g, samples); err != nil {
			return err
		}
	}
	return conclude(o, result)
}

// newRunner makes a runner whose servers are this program again.
func newRunner(o *options, stderr io.Writer) (*harness.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o777); err != nil {
			return nil, err
		}
	}
	runner := &harness.Runner{
		Rounds:  o.rounds,
		Profile: o.profile,
		Options: drive.Options{Warmup: o.warmup, Duration: o.duration},
		Serve: func(peer string, tls bool) []string {
			if tls {
				return []string{self, "serve", peer, "tls"}
			}
			return []string{self, "serve", peer}
		},
		Relay: func(addr string) []string { return []string{self, "relay", addr} },
	}
	if o.progress {
		runner.Progress = func(g *harness.Goal, round int, c harness.Contender) {
			fmt.Fprintf(stderr, "%s, round %d of %d: %s\n", g.Name, round+1, o.rounds, c.Name)
		}
	}
	return runner, nil
}

// conclude writes the file, and makes a missed bar an error if asked to.
func conclude(o *options, result *harness.Result) error {
	if o.jsonFile != "" {
		f, err := os.Create(o.jsonFile)
		if err != nil {
			return err
		}
		if err := errors.Join(result.WriteJSON(f), f.Close()); err != nil {
			return err
		}
	}
	for _, v := range result.Verdicts {
		if o.strict && !v.Met {
			return fmt.Errorf("%s: %w", v.Of, errMissed)
		}
	}
	return nil
}
