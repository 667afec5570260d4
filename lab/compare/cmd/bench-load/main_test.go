package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness/programs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nothing is a command line without any other program.
var nothing = []string{"--progress=false", "--rounds", "1", "--duration", "1ms", "--wrk", "no-wrk", "--ab", "no-ab", "--hey", "no-hey", "--oha", "no-oha", "--nginx", "no-nginx"}

// Ours is measured by itself where no other program is installed. A line names each contender that
// is left out.
func TestOursAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs for seconds")
	}
	paddock := filepath.Join(t.TempDir(), "paddock")
	if err := programs.Build(paddock, "../../../..", "./cmd/paddock"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	args := append(nothing, "--paddock", paddock, "--json", file, "--only", "get-free,get-nginx,poisson")
	if err := program().Run(t.Context(), args, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"not here, and left out: no-wrk, no-ab, no-hey, no-oha, no-nginx", "cannot: no no-wrk here", "cannot: no no-nginx here", "bar: paddock >= 95 passed: met",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), `"client_user_us_per_op"`) {
		t.Errorf("%v: %s", err, text)
	}
	if strings.Contains(out.String(), "failed") {
		t.Errorf("got\n%s", &out)
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := program().Run(t.Context(), []string{"--list"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  pipeline ", "  oha ", "bar: paddock <= 0.7x wrk in client_user_us_per_op (goal 0.5x)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{"--only fast": "no goal", "--peers k6": "no peer", "--memory soon": "invalid value"} {
		err := program().Run(t.Context(), append(nothing, strings.Fields(args)...), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
	if err := program().Run(t.Context(), []string{"--help"}, nil, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: got %v", err)
	}
}
