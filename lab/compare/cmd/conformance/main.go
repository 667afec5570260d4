// Command conformance runs the test suites of NATS clients against a server's
// binary: see docs/design/conformance.md. It fails when a test fails that is not listed
// as one that does, and when the number of tests is not the expected one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/conformance"
)

func main() { programs.Main("conformance", run) }

// settings holds the flags.
type settings struct {
	paddock, reference string
	suites             string
	dir, cache         string
	match              string
	require            bool
	say                func(string) // prints the progress
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.StringVar(&s.paddock, "paddock", "", "the program of ours")
	flags.StringVar(&s.reference, "reference", "", "nats-server, which must pass everything; empty = leave it out")
	flags.StringVar(&s.suites, "suites", "nats.go,async-nats", "the suites to run")
	flags.StringVar(&s.dir, "dir", "conformance", "the directory with the lists of the suites")
	flags.StringVar(&s.cache, "cache", filepath.Join(os.TempDir(), "paddock-conformance"), "where suites are built")
	flags.StringVar(&s.match, "match", "", "run only tests whose name matches this regular expression")
	flags.BoolVar(&s.require, "require", false, "a suite that is not available here is an error")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if s.paddock == "" && s.reference == "" {
		return nil, errors.New("neither --paddock nor --reference is given")
	}
	return s, os.MkdirAll(s.cache, 0o755)
}

// servers returns the programs to test, the reference first.
func (s *settings) servers() []conformance.Server {
	var servers []conformance.Server
	if s.reference != "" {
		servers = append(servers, conformance.Server{Name: reference, Path: s.reference})
	}
	if s.paddock != "" {
		servers = append(servers, conformance.Server{Name: "paddock", Path: s.paddock})
	}
	return servers
}

// reference is the name of the server that the lists of failures are not about.
const reference = "nats-server"

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	s.say = func(text string) { fmt.Fprintln(stderr, text) }
	var match func(string) bool
	if s.match != "" {
		re, err := regexp.Compile(s.match)
		if err != nil {
			return err
		}
		match = re.MatchString
	}
	var outcomes []*conformance.Outcome
	var errs []error
	for _, suite := range []conformance.Suite{
		conformance.NATSGo{Dir: filepath.Join(s.dir, "natsgo"), Cache: s.cache},
		conformance.AsyncNATS{Dir: filepath.Join(s.dir, "asyncnats"), Cache: s.cache},
	} {
		if !strings.Contains(","+s.suites+",", ","+suite.Name()+",") {
			continue
		}
		o, err := s.run(ctx, suite, match)
		if errors.Is(err, conformance.ErrUnavailable) && !s.require {
			fmt.Fprintf(stdout, "conformance: the tests of %s are left out: %v\n", suite.Name(), err)
			continue
		}
		outcomes, errs = append(outcomes, o...), append(errs, err)
	}
	if len(outcomes) > 0 {
		errs = append(errs, conformance.WriteTable(stdout, outcomes))
	}
	return errors.Join(errs...)
}

// run runs a suite against every server. The outcomes count even with an error.
func (s *settings) run(ctx context.Context, suite conformance.Suite, match func(string) bool) ([]*conformance.Outcome, error) {
	f, err := os.Open(suite.List())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := conformance.ParseList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", suite.List(), err)
	}
	units, err := suite.Prepare(ctx, list)
	if err != nil {
		return nil, err
	}
	var outcomes []*conformance.Outcome
	var errs []error
	for _, server := range s.servers() {
		o, err := conformance.Run(ctx, suite, units, list, server, match, s.say)
		if err != nil {
			return outcomes, errors.Join(append(errs, err)...)
		}
		fails := list.Fails
		if server.Name == reference {
			fails = nil
		}
		outcomes, errs = append(outcomes, o), append(errs, o.Judge(fails))
	}
	return outcomes, errors.Join(errs...)
}
