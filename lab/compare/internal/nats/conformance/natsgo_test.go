package conformance

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// NATSGo is the integration tests of nats.go, which its module has beside the
// client. They are built where the module is: nothing is copied.
type NATSGo struct {
	Dir   string // lab/compare/conformance/natsgo
	Cache string // where the test programs are built
}

// Name returns the name of the suite in results.
func (n NATSGo) Name() string { return "nats.go" }

// List returns the file's name.
func (n NATSGo) List() string { return filepath.Join(n.Dir, "tests.txt") }

// Prepare builds the tests of the client and of its micro services.
func (n NATSGo) Prepare(ctx context.Context, _ *List) ([]Unit, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if _, err := output(ctx, n.Dir, nil, "go", "mod", "download"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	var units []Unit
	for _, pkg := range []string{"github.com/nats-io/nats.go/test", "github.com/nats-io/nats.go/micro/test"} {
		u := goUnit{name: strings.ReplaceAll(strings.TrimPrefix(pkg, "github.com/nats-io/nats.go/"), "/", "-")}
		dir, err := output(ctx, n.Dir, nil, "go", "list", "-f", "{{.Dir}}", pkg)
		if err != nil {
			return nil, err
		}
		u.dir = strings.TrimSpace(string(dir))
		if u.program, err = filepath.Abs(filepath.Join(n.Cache, u.name+".test")); err != nil {
			return nil, err
		}
		// The tag makes the client's hooks for its tests visible.
		if _, err := output(ctx, n.Dir, nil, "go", "test", "-c", "-tags", "internal_testing", "-o", u.program, pkg); err != nil {
			return nil, err
		}
		units = append(units, u)
	}
	return units, nil
}

// goUnit is a test program of Go.
type goUnit struct {
	name    string
	program string
	dir     string // of its package, where it finds its files
}

func (u goUnit) Name() string { return u.name }

func (u goUnit) Tests(ctx context.Context, env []string) ([]string, error) {
	out, err := output(ctx, u.dir, env, u.program, "-test.list", "^Test")
	return strings.Fields(string(out)), err
}

// goResult is the line that ends a test. In the mode for other programs a control
// character stands before it, whatever was printed on that line. Subtests are
// indented, and part of their test.
var goResult = regexp.MustCompile(`(?m)(?:^|\x16)--- (PASS|FAIL|SKIP): ([^/\s]+) \(`)

// goStart is the line that begins one.
var goStart = regexp.MustCompile(`(?m)(?:^|\x16)=== RUN   ([^/\s]+)$`)

func (u goUnit) Run(ctx context.Context, env []string, tests []string, report func(string, Result)) (string, error) {
	bound := patience(len(tests))
	log, err := testProgram(ctx, bound, u.dir, env, u.program,
		"-test.v=test2json", "-test.timeout", (bound - bound/10).String(), "-test.run", "^("+strings.Join(tests, "|")+")$")
	parseGo(log, report)
	return log, err
}

// parseGo reports the results in a test program's output. The test in which the
// program ended has failed.
func parseGo(log string, report func(string, Result)) {
	ended := map[string]bool{}
	for _, m := range goResult.FindAllStringSubmatch(log, -1) {
		ended[m[2]] = true
		report(m[2], map[string]Result{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped}[m[1]])
	}
	for _, m := range goStart.FindAllStringSubmatch(log, -1) {
		if !ended[m[1]] {
			report(m[1], Failed)
		}
	}
}
