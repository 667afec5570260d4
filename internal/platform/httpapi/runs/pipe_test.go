//go:build unix

package runs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe without a writer in the place of a file holds up no request.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run.json", "report.html"} {
		if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "a", name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list, _ := listed(t, opened(t, dir))
	if len(list.Runs) != 1 || list.Runs[0].Error != "run.json: not a regular file" || list.Runs[0].Report {
		t.Errorf("%+v", list.Runs[0])
	}
}
