package wire_test

import (
	"cmp"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPythonPeerReadsTheVectors runs an implementation that shares nothing with
// this one but SPEC.
func TestPythonPeerReadsTheVectors(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), python(t), "-I", "testdata/peer.py", "vectors",
		"testdata/vectors/frames.txt", "testdata/vectors/hello.txt")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := len(readVectors(t, "frames.txt")) + len(readVectors(t, "hello.txt"))
	if got := strings.Count(string(out), "ok "); got != want {
		t.Errorf("%d of %d vectors\n%s", got, want, out)
	}
}

// TestPythonPeersAgree runs the strict peer of testdata/live.py against itself, so
// that a failure against Go is not one of its own.
func TestPythonPeersAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	out, err := exec.CommandContext(t.Context(), python(t), "-I", "testdata/exchange.py", "self").CombinedOutput()
	if err != nil || strings.Count(string(out), "done\n") != 4 { // two runs of two peers
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestPythonPeerIsStrict holds that the peer would notice what we must not do.
func TestPythonPeerIsStrict(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), python(t), "-I", "testdata/violations.py").CombinedOutput()
	if err != nil || strings.Count(string(out), "ok ") < 40 {
		t.Fatalf("%v\n%s", err, out)
	}
}

// python is an interpreter: the one that PADDOCK_PYTHON names, else python3.
// Without one the test is skipped, or fails if PADDOCK_REQUIRE_PY is 1.
func python(t *testing.T) string {
	t.Helper()
	name := cmp.Or(os.Getenv("PADDOCK_PYTHON"), "python3")
	if out, err := exec.CommandContext(t.Context(), name, "-c", "import sys; assert sys.version_info >= (3, 8)").CombinedOutput(); err != nil {
		absent := t.Skipf
		if os.Getenv("PADDOCK_REQUIRE_PY") == "1" {
			absent = t.Fatalf
		}
		absent("no Python 3.8 (%s): %v %s", name, err, out)
	}
	return name
}
