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
)

// built is the directory with paddock and nats-server, built from this tree.
var built string

// The test's binary is also the server that bench runs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
		return
	}
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench-test-")
	if built = dir; err == nil && !testing.Short() {
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

// needsPrograms skips a test without the programs.
func needsPrograms(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds programs, and runs for seconds")
	}
}

// short are the flags of each part for a run that takes no time. Programs that may not be here are
// left out.
var short = map[string]string{
	"wire":   "--duration 10ms --warmup 2ms",
	"bus":    "--duration 20ms --warmup 2ms --paddock $BIN/paddock --nats-server $BIN/nats-server",
	"fence":  "--duration 2ms --warmup 1ms --paddock $BIN/paddock",
	"web":    "--duration 2ms --warmup 1ms --paddock $BIN/paddock",
	"load":   "--duration 1ms --paddock $BIN/paddock --wrk no-wrk --ab no-ab --hey no-hey --oha no-oha --nginx no-nginx",
	"tunnel": "--duration 1ms --paddock $BIN/paddock --rathole no-rathole --ssh no-ssh",
}

// compare runs a part with one short round, and returns its output.
func compare(ctx context.Context, part string, args ...string) (string, error) {
	var out bytes.Buffer
	given := strings.Fields("--rounds 1 --progress=false " + strings.ReplaceAll(short[part], "$BIN", built))
	err := run(ctx, append(append([]string{part}, given...), args...), &out, &out)
	return out.String(), err
}

// result runs a part, and returns the result that it writes.
func result(t *testing.T, part string, args ...string) (r harness.Result, out string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	out, err := compare(t.Context(), part, append(args, "--json", file)...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r, out
}

func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Each part lists its goals, bars and peers.
func TestList(t *testing.T) {
	for part, wanted := range map[string][]string{
		"wire":   {"  roundtrip ", "  grpc ", "bar: wire >= 12x grpc"},
		"bus":    {"  PubFourQueueSub ", "  nats-server ", "bar: paddock >= 2.5x nats-server in ops_per_s (goal 4x)"},
		"fence":  {"  look-up-buses ", "  tidwall ", "bar: cellmap >= 0.9x nginx in ops_per_s"},
		"web":    {"  static-3.5kB ", "  nginx "},
		"load":   {"  pipeline ", "  oha ", "bar: paddock <= 0.7x wrk in client_user_us_per_op (goal 0.5x)"},
		"tunnel": {"  size-corpus ", "  rathole ", "bar: paddock tcp, plain <= 1x rathole, plain in server_us_per_op (goal 0.7x)"},
	} {
		out, err := compare(t.Context(), part, "--list")
		if err != nil {
			t.Error(err)
		}
		contains(t, out, wanted...)
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                   `no part "": there are bus, fence, load, tunnel, web, wire`,
		"walk":               "no part",
		"serve":              "which peer",
		"serve http":         "no peer",
		"wire --only fast":   "no goal",
		"bus --peers redis":  "no peer",
		"wire --rounds 0":    "above zero",
		"wire fast":          "unexpected argument",
		"load --memory soon": "invalid value",
		"fence --data /does/not/exist --only build": "no such file",
	} {
		err := run(t.Context(), strings.Fields(args), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
	for part := range parts {
		if err := run(t.Context(), []string{part, "--help"}, nil, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s --help: got %v", part, err)
		}
	}
}

// A bar that was not measured is an error with --strict.
func TestStrictFailsWithoutAMeasurement(t *testing.T) {
	for args, want := range map[string]error{
		"wire --only request --peers grpc --strict=true":  harness.ErrMissed,
		"wire --only request --peers grpc --strict=false": nil,
		"fence --only memory --peers tidwall --strict":    harness.ErrMissed,
		"bus --only publish-16 --peers paddock --strict":  harness.ErrMissed,
	} {
		words := strings.Fields(args)
		if words[0] == "bus" && testing.Short() {
			continue
		}
		if _, err := compare(t.Context(), words[0], words[1:]...); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", args, err, want)
		}
	}
}

func TestAnInterruptEndsTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{"wire --only request --peers grpc", "bus --only publish-16", "fence --only edit"} {
		words := strings.Fields(args)
		if _, err := compare(ctx, words[0], words[1:]...); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", args, err)
		}
	}
}
