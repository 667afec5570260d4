//go:build unix

package journal

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Holder returns the number of the process that runs with the journal of a directory, or 0. Nothing
// is locked and nothing is written. A process that runs with the journal itself must not call it:
// it would lose its lock.
func Holder(dir string) int {
	f, err := os.Open(filepath.Join(dir, "LOCK"))
	if err != nil {
		return 0 // there is no journal
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type == unix.F_UNLCK {
		return 0
	}
	return int(lock.Pid)
}

// MayWrite returns why this process may not write into a directory, or nil. Nothing is written.
func MayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
