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

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/busbench"
)

// programs is the directory with the two programs.
var builtPrograms string

// The tests run the programs that they are about, built from this tree.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "bench-bus-test-")
	if err == nil {
		builtPrograms = dir
		err = errors.Join(
			programs.Build(filepath.Join(dir, "paddock"), "../../../..", "./cmd/paddock"),
			programs.Build(filepath.Join(dir, "nats-server"), "../..", "github.com/nats-io/nats-server/v2"),
		)
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

// command is a run of bench-bus with short windows.
func command(args ...string) []string {
	return append([]string{
		"--paddock", filepath.Join(builtPrograms, "paddock"), "--nats-server", filepath.Join(builtPrograms, "nats-server"),
		"--rounds", "1", "--duration", "20ms", "--warmup", "2ms", "--idle-conns", "50", "--progress=false",
	}, args...)
}

// Every goal runs with every contender, and each has its figures.
func TestEveryGoal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	if err := program().Run(t.Context(), command("--json", file), &out, &out); err != nil {
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
	measured := map[string]bool{}
	for _, s := range result.Samples {
		if s.Failed != "" || s.Unsupported != "" {
			t.Errorf("%s, %s: %s%s", s.Goal, s.Contender, s.Failed, s.Unsupported)
		}
		measured[s.Goal+" "+s.Contender] = s.Ops > 0
	}
	for _, g := range (&busbench.Bench{IdleConns: 50}).Goals("") {
		if !strings.Contains(out.String(), "\n"+g.Name+": "+g.Title+"\n") {
			t.Errorf("no table of %s in\n%s", g.Name, &out)
		}
		for _, c := range g.Contenders {
			if !measured[g.Name+" "+c.Name] {
				t.Errorf("%s: %s did nothing", g.Name, c.Name)
			}
		}
	}
}

func TestPinned(t *testing.T) {
	var out bytes.Buffer
	if err := program().Run(t.Context(), command("--pinned", "--only", "one-to-one-16"), &out, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "failed") || !strings.Contains(text, "bar: paddock <= 0.33x nats-server") {
		t.Errorf("got\n%s", text)
	}
}

// nats-server serves profiles; ours has one of its load at least.
func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	var out bytes.Buffer
	if err := program().Run(t.Context(), command("--only", "publish-16", "--profile", dir), &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"paddock-0-client", "nats-server-0-client", "nats-server-0-server"} {
		file := filepath.Join(dir, "publish-16-"+name+".pprof")
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, or empty\n%s", file, err, &out)
		}
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := program().Run(t.Context(), []string{"--list"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  PubFourQueueSub ", "  nats-server ", "bar: paddock >= 2.5x nats-server in ops_per_s (goal 4x)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"--only fast":   "no goal",
		"--peers redis": "no peer",
		"fast":          "unexpected argument",
		"--strict --only publish-16 --peers paddock --nats-server /does/not/exist": "a bar was missed",
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
	if err := program().Run(ctx, command("--only", "publish-16"), new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
