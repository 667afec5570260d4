package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

func results(parse func(string, func(string, Result)), log string) map[string]Result {
	got := map[string]Result{}
	parse(log, func(test string, r Result) { got[test] = r })
	return got
}

func TestParseGo(t *testing.T) {
	got := results(parseGo, "\x16=== RUN   TestA\n\x16=== RUN   TestA/part\nsaid\n\x16    --- FAIL: TestA/part (0.00s)\n"+
		"no end of line\x16--- FAIL: TestA (0.10s)\n\x16=== RUN   TestB\n\x16--- PASS: TestB (0.00s)\n"+
		"\x16=== RUN   TestC\n\x16--- SKIP: TestC (0.00s)\n\x16=== RUN   TestD\n\x16=== NAME  TestD\npanic: no\n")
	want := map[string]Result{"TestA": Failed, "TestB": Passed, "TestC": Skipped, "TestD": Failed}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseRust(t *testing.T) {
	got := results(parseRust, "running 4 tests\ntest client::a ... ok\ntest client::b ... FAILED\n"+
		"test c ... ignored, for a reason\ntest d - should panic ... ok\ntest result: FAILED. 2 passed\n")
	want := map[string]Result{"client::a": Passed, "client::b": Failed, "c": Skipped, "d": Passed}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRustTest(t *testing.T) {
	source := "#[test]\nfn one() {}\n#[tokio::test]\n// why\n#[cfg(x)]\nasync fn two() {}\n" +
		"#[tokio::test(flavor = \"multi_thread\")]\nasync fn three() {}\nfn helper() {}\n"
	var got []string
	for _, m := range rustTest.FindAllStringSubmatch(source, -1) {
		got = append(got, m[1])
	}
	if want := []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRustPrograms(t *testing.T) {
	got, err := rustPrograms([]byte(`{"reason":"compiler-artifact","target":{"name":"one","kind":["test"]},"executable":"/x/one"}
{"reason":"compiler-artifact","target":{"name":"lib","kind":["lib"]},"executable":null}
{"reason":"build-finished","success":true}`))
	if want := map[string]string{"one": "/x/one"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
}

// fakeSuite is a suite of one program that the test writes.
type fakeSuite struct{}

func (fakeSuite) Name() string                                   { return "fake" }
func (fakeSuite) List() string                                   { return "" }
func (fakeSuite) Prepare(context.Context, *List) ([]Unit, error) { return nil, nil }

// fakeUnit runs tests that come out as a script says, in each of the runs.
type fakeUnit struct {
	script map[string][]Result
	runs   [][]string
}

func (u *fakeUnit) Name() string { return "u" }

func (u *fakeUnit) Tests(context.Context, []string) ([]string, error) {
	return slices.Sorted(maps.Keys(u.script)), nil
}

// Run plays one result of each test. The program ends at a test without one.
func (u *fakeUnit) Run(_ context.Context, _ []string, tests []string, report func(string, Result)) (string, error) {
	u.runs = append(u.runs, slices.Clone(tests))
	for _, test := range slices.Clone(tests) {
		if len(u.script[test]) == 0 {
			break
		}
		r := u.script[test][0]
		u.script[test] = u.script[test][1:]
		report(test, r)
	}
	return "what it said", nil
}

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		script map[string][]Result
		fails  map[string]string
		again  []string
		errs   []string // of Judge
	}{
		"all pass": {script: map[string][]Result{"a": {Passed}, "b": {Passed}}},
		"a failure that is not listed": {
			script: map[string][]Result{"a": {Failed, Failed}, "b": {Passed}},
			errs:   []string{"u/a: failed"},
		},
		"a failure that is": {
			script: map[string][]Result{"a": {Failed, Failed}, "b": {Passed}},
			fails:  map[string]string{"u/a": "late"},
		},
		"a listed failure that passes": {
			script: map[string][]Result{"a": {Passed}, "b": {Passed}},
			fails:  map[string]string{"u/a": "late"},
			errs:   []string{"u/a passes and is listed"},
		},
		"another try": {
			script: map[string][]Result{"a": {Failed, Passed}, "b": {Passed}},
			again:  []string{"u/a"},
		},
		"a program that ends": {
			script: map[string][]Result{"a": {}, "b": {Passed}},
			errs:   []string{"u/a: not run"},
		},
		"a test that skips itself": {
			script: map[string][]Result{"a": {Skipped}, "b": {Passed}},
			errs:   []string{"u/a: skipped itself"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := &fakeUnit{script: c.script}
			list := &List{Run: len(c.script), Fails: c.fails}
			o, err := Run(t.Context(), fakeSuite{}, []Unit{u}, list, Server{"ours", os.Args[0]}, nil, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			err = o.Judge(c.fails)
			if (err == nil) != (len(c.errs) == 0) {
				t.Fatalf("judged %v, want %q", err, c.errs)
			}
			for _, text := range c.errs {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("judged %v, want %q", err, text)
				}
			}
			if !slices.Equal(o.Again, c.again) {
				t.Errorf("again %v, want %v", o.Again, c.again)
			}
		})
	}
}

func TestWriteTable(t *testing.T) {
	o := &Outcome{
		Suite: "fake", Server: "ours",
		Selection: &Selection{Run: []string{"u/a", "u/b", "u/c", "u/d"}, Skipped: map[string][]string{"js": {"u/e", "u/f"}}},
		Results:   map[string]Result{"u/a": Passed, "u/b": Failed, "u/c": Passed},
		Again:     []string{"u/c"},
		Logs:      map[string]string{"u/b": "why\n"},
	}
	var b bytes.Buffer
	if err := WriteTable(&b, []*Outcome{o}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| fake  | ours   | 6     | 2              | 4          | 2      | 1      | 1       | 50.0     |",
		"fake against ours: u/b: failed\n    why\n",
		"fake against ours: u/c passed only when it was run again, alone",
		"fake against ours: u/d: not run\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
