package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/lab/compare/internal/harness/programs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ours is measured beside nginx alone where no other program is installed. A line names each
// contender that is left out.
func TestOursAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs for seconds")
	}
	for _, program := range []string{"nginx", "wrk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	paddock := filepath.Join(t.TempDir(), "paddock")
	if err := programs.Build(paddock, "../../../..", "./cmd/paddock"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"--progress=false", "--rounds", "1", "--duration", "1ms", "--rathole", "no-rathole", "--ssh", "no-ssh", "--paddock", paddock, "--only", "tcp,size-corpus"}
	if err := program().Run(t.Context(), args, &out, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"not here, and left out: no-rathole, no-ssh", "cannot: no no-rathole here", "bar: paddock tcp, plain <= 1x rathole, plain",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
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
	for _, want := range []string{"  size-corpus ", "  rathole ", "bar: paddock tcp, plain <= 1x rathole, plain in server_us_per_op (goal 0.7x)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
