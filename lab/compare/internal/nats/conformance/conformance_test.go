package conformance

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The flags of TestConformance; `make conformance` sets them.
var (
	ours      = flag.String("paddock", "", "the program of ours")
	reference = flag.String("reference", "", "nats-server, which must pass everything; empty = leave it out")
	suites    = flag.String("suites", "nats.go,async-nats", "the suites to run")
	lists     = flag.String("dir", "../../../conformance", "the directory with the lists of the suites")
	cache     = flag.String("cache", filepath.Join(os.TempDir(), "paddock-conformance"), "where suites are built")
	only      = flag.String("match", "", "run only tests whose name matches this regular expression")
	require   = flag.Bool("require", false, "a suite that is not available here is an error")
)

// TestConformance runs the test suites of NATS clients against the programs of servers: see
// docs/design/conformance.md. It fails when a test fails that is not listed as one that does, and
// when the number of tests is not the expected one.
func TestConformance(t *testing.T) {
	var servers []Server // the reference is the first
	for _, s := range []Server{{Name: "nats-server", Path: *reference}, {Name: "paddock", Path: *ours}} {
		if s.Path != "" {
			servers = append(servers, s)
		}
	}
	if len(servers) == 0 {
		t.Skip("neither --paddock nor --reference is given: make conformance gives both")
	}
	if err := os.MkdirAll(*cache, 0o755); err != nil {
		t.Fatal(err)
	}
	var outcomes []*Outcome
	for _, suite := range []Suite{
		NATSGo{Dir: filepath.Join(*lists, "natsgo"), Cache: *cache},
		AsyncNATS{Dir: filepath.Join(*lists, "asyncnats"), Cache: *cache},
	} {
		if !strings.Contains(","+*suites+",", ","+suite.Name()+",") {
			continue
		}
		o, err := runSuite(t, suite, servers)
		switch {
		case errors.Is(err, ErrUnavailable) && !*require:
			fmt.Fprintf(t.Output(), "the tests of %s are left out: %v\n", suite.Name(), err)
		case err != nil:
			t.Error(err)
		}
		outcomes = append(outcomes, o...)
	}
	if len(outcomes) > 0 {
		if err := WriteTable(t.Output(), outcomes); err != nil {
			t.Error(err)
		}
	}
}

// runSuite runs a suite against every server. The outcomes count even with an error.
func runSuite(t *testing.T, suite Suite, servers []Server) ([]*Outcome, error) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	f, err := os.Open(suite.List())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := ParseList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", suite.List(), err)
	}
	var match func(string) bool
	if *only != "" {
		re, err := regexp.Compile(*only)
		if err != nil {
			return nil, err
		}
		match = re.MatchString
	}
	units, err := suite.Prepare(ctx, list)
	if err != nil {
		return nil, err
	}
	var outcomes []*Outcome
	var errs []error
	for i, server := range servers {
		o, err := Run(ctx, suite, units, list, server, match, func(text string) { fmt.Fprintln(t.Output(), text) })
		if err != nil {
			return outcomes, errors.Join(append(errs, err)...)
		}
		fails := list.Fails
		if i == 0 && *reference != "" {
			fails = nil // the lists are not about the reference
		}
		outcomes, errs = append(outcomes, o), append(errs, o.Judge(fails))
	}
	return outcomes, errors.Join(errs...)
}
