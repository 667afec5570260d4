// Package bustest is for tests that talk to a broker with a second, independent
// implementation of the NATS protocol: the Python client nats-py.
package bustest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// FindPython returns an interpreter that has nats-py: the one that
// PADDOCK_PYTHON names, else python3.
func FindPython() (string, error) { return findPython("nats") }

func findPython(module string) (string, error) {
	python := cmp.Or(os.Getenv("PADDOCK_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import "+module).CombinedOutput(); err != nil {
		return "", fmt.Errorf("no Python with the module %s (%s): %w %s", module, python, err, out)
	}
	return python, nil
}

// Python returns the result of FindPython. If there is none, the test is skipped, or fails if
// PADDOCK_REQUIRE_PY is 1.
func Python(t testing.TB) string {
	t.Helper()
	return PythonWith(t, "nats")
}

// PythonWith is Python for another module than that of nats-py.
func PythonWith(t testing.TB, module string) string {
	t.Helper()
	python, err := findPython(module)
	if err != nil {
		absent := t.Skip
		if os.Getenv("PADDOCK_REQUIRE_PY") == "1" {
			absent = t.Fatal
		}
		absent(err)
	}
	return python
}
