package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// formatFile holds the format of the directory in front of the store, so that an older program
// refuses the directory before its store is opened, which writes. The store holds it too.
const formatFile = "FORMAT"

// formatText returns the contents of the file. The checksum tells a number from a damaged one.
func formatText(n uint64) string {
	text := fmt.Sprintf("format %d", n)
	return fmt.Sprintf("%s crc32 %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// storedFormat returns the number in the file. It is 0 if there is none, as in directories of
// the first programs, and if the file is damaged.
func storedFormat(fs vfs.FS, dir string) uint64 {
	f, err := fs.Open(filepath.Join(dir, formatFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 100))
	var n uint64
	if _, scanned := fmt.Sscanf(string(text), "format %d", &n); err != nil || scanned != nil || string(text) != formatText(n) {
		return 0
	}
	return n
}

// CheckFormat returns ErrNewer if a newer program has written the directory. It writes nothing.
func CheckFormat(dir string) error { return checkFormat(vfs.Default, dir) }

func checkFormat(fs vfs.FS, dir string) error {
	if n := storedFormat(fs, dir); n > Format {
		return newer(dir, n)
	}
	return nil
}

func newer(dir string, n uint64) error {
	return fmt.Errorf("%w: %s has format %d, and this program reads up to %d: use the newer program, or restore a backup of this one", ErrNewer, dir, n, Format)
}

// writeFormat writes the file, durably, if it is not right.
func writeFormat(fs vfs.FS, dir string) error {
	if storedFormat(fs, dir) == Format {
		return nil
	}
	next := filepath.Join(dir, formatFile+".next")
	f, err := fs.Create(next, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(formatText(Format)))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(next, filepath.Join(dir, formatFile)); err != nil {
		return err
	}
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Checkpoint makes a directory with a copy of the present journal, of links to its files where the
// disk has them.
func (d *Disk) Checkpoint(dir string) error {
	if err := d.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return err
	}
	return writeFormat(d.fs, dir)
}
