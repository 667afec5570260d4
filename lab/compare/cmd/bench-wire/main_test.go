package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/wire/wirebench"
)

// The test's binary is also the server that bench-wire runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "serve" || os.Args[1] == "relay") {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// Every goal runs with every contender in two processes. Only contenders that declare a goal
// unsupported lack figures.
func TestEveryGoal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	var out, progress bytes.Buffer
	args := []string{"--rounds", "1", "--duration", "10ms", "--warmup", "2ms", "--json", file}
	if err := run(t.Context(), args, &out, &progress); err != nil {
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
		if s.Failed != "" {
			t.Errorf("%s, %s: %s", s.Goal, s.Contender, s.Failed)
		}
		measured[s.Goal+" "+s.Contender] = s.Seconds > 0
	}
	for _, g := range wirebench.Goals() {
		if !strings.Contains(out.String(), "\n"+g.Name+": "+g.Title+"\n") {
			t.Errorf("no table of %s in\n%s", g.Name, &out)
		}
		for _, b := range g.Bars {
			if !measured[g.Name+" "+b.Contender] || !measured[g.Name+" "+b.Base] {
				t.Errorf("%s: not measured: %s", g.Name, b.Rule())
			}
		}
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--list"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  roundtrip ", "  grpc ", "bar: wire >= 12x grpc"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestStrictFailsWithoutAMeasurement(t *testing.T) {
	for strict, want := range map[string]error{"--strict=true": harness.ErrMissed, "--strict=false": nil} {
		args := []string{
			"--only", "request", "--peers", "grpc", strict, "--progress=false",
			"--rounds", "1", "--duration", "1ms", "--warmup", "1ms",
		}
		if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", strict, err, want)
		}
	}
}

func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	args := []string{
		"--only", "post", "--peers", "raw", "--progress=false", "--profile", dir,
		"--rounds", "1", "--duration", "1ms", "--warmup", "1ms",
	}
	if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"client", "server"} {
		file := filepath.Join(dir, "post-raw-bulk-0-"+end+".pprof")
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, or empty", file, err)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"--only fast":  "no goal",
		"--peers http": "no peer",
		"--rounds 0":   "above zero",
		"fast":         "unexpected argument",
		"serve":        "which peer",
		"serve http":   "no peer",
	} {
		err := run(t.Context(), strings.Fields(args), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
	if err := run(t.Context(), []string{"--help"}, nil, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: got %v", err)
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := []string{"--only", "request", "--peers", "grpc"}
	if err := run(ctx, args, new(bytes.Buffer), new(bytes.Buffer)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
