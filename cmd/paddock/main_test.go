package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// otherName is how tools call the broker that they start.
const otherName = "nats-server"

// Tests run this test binary as the program "paddock", or by the other name.
func TestMain(m *testing.M) {
	// The tests wait for processes most of the time.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(leakChecked{m}, map[string]func(){"paddock": main, otherName: main, peerName: runPeer})
}

// plain returns the program as it is built for its users, which is made once: without tables for
// debuggers, which take as long to link as the rest. With the race detector a command takes several
// times as long to begin and to measure.
func plain(t *testing.T) string {
	t.Helper()
	file, err := madePlain()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var madePlain = sync.OnceValues(func() (string, error) {
	file := filepath.Join(runDir, "plain", "paddock")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", file, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return file, os.Link(file, filepath.Join(runDir, "plain", otherName))
})

// plainFirst returns the path of programs with the plain one before the others.
func plainFirst(t *testing.T) string {
	t.Helper()
	return filepath.Dir(plain(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// runDir is a directory that goes with the run of the tests.
var runDir string

// TestScripts runs the scenarios with the plain program: most commands have one goroutine.
func TestScripts(t *testing.T) {
	path := plainFirst(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"refuse": refuse, "code": exitCode},
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", e.WorkDir+"/.cache")
			e.Setenv("XDG_DATA_HOME", e.WorkDir+"/.data")
			e.Setenv("XDG_CONFIG_HOME", e.WorkDir+"/.config")
			e.Setenv("PATH", path)
			return nil
		},
	})
}

// refuse is the script command for a command line that is wrong in itself. It runs the line within
// the test, which is much cheaper than a process, and fails the script if the exit code is not that
// of a mistake in the usage. The line sees neither the files nor the environment of the script.
func refuse(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("unsupported: ! refuse")
	}
	c := &console{Stdin: strings.NewReader(""), Stdout: ts.Stdout(), Stderr: ts.Stderr()}
	if code := run(args, c); code != exitUsage {
		ts.Fatalf("paddock %s: exit code %d, want %d", strings.Join(args, " "), code, exitUsage)
	}
}

// leakChecked fails a run of tests that leaves a goroutine behind. What its processes keep in
// the user's cache goes with the run, and none of them sleeps for the race detector's second at
// its end: it has ended its goroutines itself.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	user, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" {
		err = os.Setenv("GOCACHE", filepath.Join(user, "go-build")) // as it is without the cache below
	}
	if err == nil {
		runDir, err = os.MkdirTemp("", "paddock-cache-")
	}
	if err == nil {
		err = os.Setenv("XDG_CACHE_HOME", runDir)
	}
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", runDir+"/config")
	}
	if err == nil {
		err = os.Setenv("PADDOCK_DATA_DIR", "off") // a test that keeps data says where
	}
	if err == nil {
		err = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(runDir)
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
