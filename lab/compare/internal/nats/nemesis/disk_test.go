package nemesis

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// fullServer is the server whose disk may be filled.
const (
	fullServer = 2
	fullDisk   = "a full disk of a server, until its restart"
)

// mountSmall makes a small file system of a directory, if the user may do that.
func (s *site) mountSmall(dir string) {
	s.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", dir).CombinedOutput(); err != nil {
		s.t.Logf("no disk will be full: mount: %v: %s", err, out)
		return
	}
	s.small = true
	s.t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			s.t.Errorf("umount: %v: %s", err, out)
		}
	})
}

// fill writes a file until its disk is full.
func (s *site) fill(file string) {
	s.t.Helper()
	f, err := os.Create(file)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			s.t.Fatal(err)
		}
	}
}

// tear cuts off some of what a node has written last, as a loss of power does: a node of a cluster
// does not wait for its disk.
func (s *site) tear(n *node) {
	s.t.Helper()
	logs, err := filepath.Glob(filepath.Join(n.dir, "data", "journal", "*.log"))
	if err != nil || len(logs) == 0 {
		s.t.Fatalf("no log of the store: %v", err)
	}
	newest := slices.Max(logs) // their names are numbers
	info, err := os.Stat(newest)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Truncate(newest, max(0, info.Size()-s.random.Int64N(1<<20))); err != nil {
		s.t.Fatal(err)
	}
}
