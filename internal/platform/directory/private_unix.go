//go:build unix

package directory

import (
	"errors"
	"os"
	"syscall"
)

// errForeign refuses snapshots that somebody else may have written.
var errForeign = errors.New("others than its owner may write to it, or its owner is somebody else")

// private makes sure that nobody else has written the file, and nobody can.
func private(info os.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return errForeign
	}
	return nil
}

// syncDir makes a new name in the directory last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
