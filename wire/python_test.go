package wire_test

import (
	"cmp"
	"encoding/hex"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPythonPeerReadsTheVectors runs an implementation that shares nothing with
// this one but SPEC.
func TestPythonPeerReadsTheVectors(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), python(t), "-I", "testdata/peer.py", "vectors",
		vectors+"frames.txt", vectors+"hello.txt")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := len(readVectors(t, "frames.txt")) + len(readVectors(t, "hello.txt"))
	if got := strings.Count(string(out), "ok "); got != want {
		t.Errorf("%d of %d vectors\n%s", got, want, out)
	}
}

// vectors is where the codec keeps its vectors.
const vectors = "../internal/wire/frame/testdata/vectors/"

// readVectors returns the bytes of each vector in a file.
func readVectors(t testing.TB, file string) (list [][]byte) {
	t.Helper()
	text, err := os.ReadFile(vectors + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "name":
			list = append(list, nil)
		case "hex":
			b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			list[len(list)-1] = append(list[len(list)-1], b...)
		}
	}
	return list
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
