package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHolder: the lock of another process is found by a test of cmd/paddock; here no process has
// one.
func TestHolder(t *testing.T) {
	dir := t.TempDir()
	if pid := Holder(dir); pid != 0 {
		t.Errorf("without a journal: %d", pid)
	}
	j, err := Open(Options{Dir: dir})
	ok(t, err)
	ok(t, j.Close())
	if pid := Holder(dir); pid != 0 {
		t.Errorf("after its end: %d", pid)
	}
	ok(t, MayWrite(dir))
	if err := MayWrite(filepath.Join(dir, "absent")); !os.IsNotExist(err) {
		t.Errorf("an absent directory: %v", err)
	}
}
