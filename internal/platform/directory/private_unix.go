//go:build unix

package directory

import (
	"errors"
	"os"
	"syscall"
)

// errForeign refuses snapshots that other users may have written.
var errForeign = errors.New("it belongs to another user, or other users may write to it")

// private checks that the file belongs to this user, and that no other user can write it.
func private(info os.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(s.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return errForeign
	}
	return nil
}

// syncDir makes a new name in the directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
