package conformance

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

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
