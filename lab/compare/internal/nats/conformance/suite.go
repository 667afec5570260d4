package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrUnavailable is why a suite cannot be had here: a tool or the network is
// missing.
var ErrUnavailable = errors.New("not available here")

// Suite is a client's tests.
type Suite interface {
	Name() string
	// List names the file in the repository that holds the list of its tests.
	List() string
	// Prepare fetches and builds the test programs and returns them. Programs that the list leaves
	// out as a whole need not be built.
	Prepare(context.Context, *List) ([]Unit, error)
}

// Unit is a test program.
type Unit interface {
	Name() string
	// Tests returns the names of its tests. env is the servers' as in Run.
	Tests(ctx context.Context, env []string) ([]string, error)
	// Run runs tests, and calls report for each that ended, with the result. It returns their
	// output. Tests for which report was not called were lost with the program.
	Run(ctx context.Context, env []string, tests []string, report func(string, Result)) (log string, err error)
}

// Server is a program under test.
type Server struct {
	Name string // as results call it
	Path string
}

// environment returns the environment in which test programs find the server under the name
// nats-server, on PATH. The name is a link in dir.
func (s Server) environment(dir string) ([]string, error) {
	program, err := filepath.Abs(s.Path)
	if err != nil {
		return nil, err
	}
	link := filepath.Join(dir, "nats-server")
	if err := os.Symlink(program, link); err != nil {
		return nil, err
	}
	return append(os.Environ(),
		"PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"),
		"CONFORMANCE_SERVER="+link), nil
}

// Run runs a suite's tests against a server. match narrows them down; nil = all. say prints the
// progress.
func Run(ctx context.Context, suite Suite, units []Unit, list *List, server Server, match func(string) bool, say func(string)) (*Outcome, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	env, err := server.environment(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, u := range units {
		tests, err := u.Tests(ctx, env)
		if err != nil {
			return nil, fmt.Errorf("tests of %s: %w", u.Name(), err)
		}
		for _, test := range tests {
			all = append(all, u.Name()+"/"+test)
		}
	}
	selection, err := list.Select(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", suite.Name(), err)
	}
	if match != nil {
		selection.Run = slices.DeleteFunc(selection.Run, func(test string) bool { return !match(test) })
	}
	o := &Outcome{
		Suite: suite.Name(), Server: server.Name, Selection: selection,
		Results: map[string]Result{}, Logs: map[string]string{},
	}
	for _, u := range units {
		if err := o.run(ctx, u, env); err != nil {
			return nil, fmt.Errorf("%s: %w", u.Name(), err)
		}
		say(fmt.Sprintf("%s against %s: %s is done, %d passed so far", o.Suite, o.Server, u.Name(), o.Count(Passed)))
	}
	return o, nil
}

// run runs a unit's tests until each has a result, and then runs failed tests again.
func (o *Outcome) run(ctx context.Context, u Unit, env []string) error {
	var tests []string
	for _, name := range o.Selection.Run {
		if test, ok := strings.CutPrefix(name, u.Name()+"/"); ok {
			tests = append(tests, test)
		}
	}
	for len(tests) > 0 {
		left := len(tests)
		_, err := u.Run(ctx, env, tests, func(test string, r Result) {
			o.Results[u.Name()+"/"+test] = r
			tests = slices.DeleteFunc(tests, func(t string) bool { return t == test })
		})
		if err != nil {
			return err
		}
		if len(tests) == left {
			break // the program does not get past the first of them
		}
	}
	for _, name := range o.Selection.Run {
		test, ok := strings.CutPrefix(name, u.Name()+"/")
		if !ok || o.Results[name] == Passed || o.Results[name] == Skipped {
			continue
		}
		log, err := o.retry(ctx, u, env, test)
		if err != nil {
			return err
		}
		o.Logs[name] = log
	}
	return nil
}

// tries is how often a test that has failed is run again, alone: machines are
// busy, and some tests wait for milliseconds.
const tries = 2

// retry runs a test until it passes, and returns its last output.
func (o *Outcome) retry(ctx context.Context, u Unit, env []string, test string) (log string, err error) {
	name := u.Name() + "/" + test
	first := o.Results[name]
	for range tries {
		log, err = u.Run(ctx, env, []string{test}, func(_ string, r Result) { o.Results[name] = r })
		if err != nil || o.Results[name] == Passed {
			break
		}
	}
	if first == Failed && o.Results[name] == Passed {
		o.Again = append(o.Again, name)
	}
	return log, err
}
