package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/fencebench"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
)

// paddock is the program of ours, built from this tree.
var paddock string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bench-fence-test-")
	if err == nil {
		paddock = filepath.Join(dir, "paddock")
		err = programs.Build(paddock, "../../../..", "./cmd/paddock")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		os.RemoveAll(dir)
		os.Exit(status)
	}))
}

// command is a run of bench-fence with short windows.
func command(args ...string) []string {
	return append([]string{
		"--paddock", paddock,
		"--rounds", "1", "--duration", "2ms", "--warmup", "1ms", "--progress=false",
	}, args...)
}

// Every goal within the process runs with every contender, over the simulated city, and has
// figures: so every index has given the same answers. A figure that is missing has a reason.
func TestEveryIndex(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	var names []string
	for _, g := range fencebench.Goals() {
		if g.Within {
			names = append(names, g.Name)
		}
	}
	var out bytes.Buffer
	if err := program().Run(t.Context(), command("--json", file, "--only", strings.Join(names, ",")), &out, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result harness.Result
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(result.Subject, "set districts of ") || !strings.Contains(result.Subject, "37290 bodies, SHA-256 ") {
		t.Errorf("the subject is %q", result.Subject)
	}
	if len(result.Samples) == 0 {
		t.Fatal("no samples")
	}
	for _, s := range result.Samples {
		switch {
		case s.Failed != "":
			t.Errorf("%s, %s: %s", s.Goal, s.Contender, s.Failed)
		case s.Unsupported == "" && s.Ops == 0:
			t.Errorf("%s: %s did nothing", s.Goal, s.Contender)
		}
	}
	for _, want := range []string{
		"bar: cellmap <= 40 ns_per_op (goal 20): ",
		"bar: golang/geo >= 15x cellmap in ns_per_op (goal 37x): ",
		"bar: cellmap <= 64 bytes_per_edge (goal 40): ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// Ours is measured over HTTP where wrk is installed, and nginx where both are. A line names each
// contender that is left out.
func TestHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("wrk counts whole seconds")
	}
	var out bytes.Buffer
	if err := program().Run(t.Context(), command("--only", "http-get,http-latency"), &out, &out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "failed") {
		t.Errorf("got\n%s", &out)
	}
	out.Reset()
	if err := program().Run(t.Context(), command("--only", "http-engarde", "--nginx", "no-nginx", "--wrk", "no-wrk"), &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cannot: no no-wrk here", "cannot: no no-nginx here"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := program().Run(t.Context(), []string{"--list"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  look-up-buses ", "  simplefeatures ", "bar: cellmap >= 0.9x nginx in ops_per_s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"--only fast":                            "no goal",
		"--peers redis":                          "no peer",
		"--data /does/not/exist --only build":    "no such file",
		"--strict --only memory --peers tidwall": "a bar was missed", // of a contender that does not run
	} {
		err := program().Run(t.Context(), command(strings.Fields(args)...), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
	if err := program().Run(t.Context(), []string{"--help"}, nil, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: got %v", err)
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := program().Run(ctx, command("--only", "edit"), new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
