package journal

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Hold keeps other processes from opening the journal of a directory until release is called. The
// error is ErrLocked if one has it open, or one of the file system.
func Hold(dir string) (release func() error, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, vfs.Default)
	if err != nil {
		d := Disk{dir: dir}
		return nil, d.openError(err, vfs.Default)
	}
	return lock.Close, nil
}

// Copy makes a directory with a copy of a journal that no process has open: of links to the files
// that never change, where the disk has them. The journal stays as it is, whatever is done with the
// copy.
func Copy(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		put := vfs.Copy
		switch filepath.Ext(f.Name()) {
		case ".sst", ".blob":
			put = vfs.LinkOrCopy
		}
		if f.IsDir() || f.Name() == lockFile || f.Name() == ownerFile {
			continue
		}
		if err := put(vfs.Default, filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return err
		}
	}
	d, err := vfs.Default.OpenDir(to)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockFile is the store's file whose lock a process holds.
const lockFile = "LOCK"
