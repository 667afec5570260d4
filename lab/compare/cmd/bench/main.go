// Command bench compares the parts of Paddock with other programs:
//
//	bench wire|bus|fence|web|load|tunnel [flags]
//
// `bench PART --list` names the goals of a part and its contenders. The program runs itself again
// as a server of wire's contenders, and as a publisher.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"paddock/lab/compare/internal/fencebench"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/http/loadbench"
	"paddock/lab/compare/internal/http/webbench"
	"paddock/lab/compare/internal/nats/busbench"
	"paddock/lab/compare/internal/tunnel/tunnelbench"
	"paddock/lab/compare/internal/wire/wirebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// parts are the comparisons, each with its goals.
var parts = map[string]func() *harness.Program{"wire": wire, "bus": bus, "fence": fence, "web": web, "load": load, "tunnel": tunnel}

// run makes a comparison, or is one of the processes that it starts.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case wirebench.ServeCommand:
		signal.Ignore(os.Interrupt) // that of the terminal goes to all processes; this one ends with its input
		return wirebench.Child(args, os.Stdin, stdout)
	case loadbench.PublishCommand:
		return loadbench.Publish(args, stdout)
	}
	part, ok := parts[name]
	if !ok {
		return fmt.Errorf("no part %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
	}
	p := part()
	p.Name = "bench " + name
	return p.Run(ctx, args, stdout, stderr)
}

// self is the path of the running program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// paths adds a flag for each program that a comparison starts. Those of this repository are in
// the folder of this program, and others in PATH.
func paths(flags *flag.FlagSet, to map[string]*string) {
	for name, path := range to {
		at := name
		switch name {
		case "paddock", "nats-server":
			at = filepath.Join(filepath.Dir(self()), name)
		case "sshd":
			at = "/usr/sbin/sshd"
		}
		flags.StringVar(path, name, at, "path of the program "+name)
	}
}

func wire() *harness.Program {
	b := wirebench.Bench{Self: self()}
	return &harness.Program{
		Goals: wirebench.Goals, Peers: wirebench.Peers(), Rounds: 5, Duration: time.Second, Warmup: 250 * time.Millisecond, Measure: b.Measure,
	}
}

func bus() *harness.Program {
	b, pinned := &busbench.Bench{}, false
	return &harness.Program{
		Goals: func() []harness.Goal {
			if pinned {
				return busbench.Goals(harness.Crossed)
			}
			return busbench.Goals("")
		},
		Peers: busbench.Peers, Rounds: 10, Duration: time.Second, Warmup: 250 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.BoolVar(&pinned, "pinned", false, "bind the server to the first processor and the load to the second")
			paths(flags, map[string]*string{"paddock": &b.Paddock, "nats-server": &b.NATSServer})
		},
		Dir: &b.Dir, Measure: b.Measure,
	}
}

func fence() *harness.Program {
	b := &fencebench.Bench{}
	return &harness.Program{
		Goals: fencebench.Goals, Peers: fencebench.Peers, Rounds: 5, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&b.Data, "data", "", "directory of GeoJSON files with fences and positions; without it the simulated city")
			paths(flags, map[string]*string{"paddock": &b.Paddock, "nginx": &b.Nginx, "wrk": &b.Wrk})
		},
		Dir: &b.Dir, Describe: b.Describe, Measure: b.Measure,
	}
}

func web() *harness.Program {
	b := &webbench.Bench{}
	return &harness.Program{
		Goals: webbench.Goals, Peers: webbench.Peers, Rounds: 10, Duration: 300 * time.Millisecond, Warmup: 100 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			paths(flags, map[string]*string{"paddock": &b.Paddock, "nginx": &b.Nginx, "wrk": &b.Wrk})
		},
		Dir: &b.Dir, Measure: b.Measure,
	}
}

func load() *harness.Program {
	b := &loadbench.Bench{Self: self()}
	return &harness.Program{
		Goals: loadbench.Goals, Peers: loadbench.Peers, Rounds: 6, Duration: 5 * time.Second, Warmup: 500 * time.Millisecond,
		Flags: func(flags *flag.FlagSet) {
			paths(flags, map[string]*string{
				"paddock": &b.Paddock, "wrk": &b.Wrk, "ab": &b.Ab, "hey": &b.Hey, "oha": &b.Oha, "nginx": &b.Nginx,
			})
			flags.DurationVar(&b.Memory, "memory", time.Minute, "length of the run whose memory is watched")
		},
		Dir: &b.Dir, Describe: b.Describe, Measure: b.Measure,
	}
}

func tunnel() *harness.Program {
	b := &tunnelbench.Bench{}
	return &harness.Program{
		Goals: tunnelbench.Goals, Peers: tunnelbench.Peers, Rounds: 7, Duration: 4 * time.Second, Warmup: time.Second,
		Flags: func(flags *flag.FlagSet) {
			paths(flags, map[string]*string{
				"paddock": &b.Paddock, "rathole": &b.Rathole, "ssh": &b.SSH, "sshd": &b.SSHD, "nginx": &b.Nginx, "wrk": &b.Wrk,
			})
		},
		Dir: &b.Dir, Describe: b.Describe, Measure: b.Measure,
	}
}
