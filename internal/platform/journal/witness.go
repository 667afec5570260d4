package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// newestFile holds the number of a record that is durable. The store takes damage of its list of
// files for an entry that a loss of power has cut off, and goes on without the files that were
// listed behind it. If records up to this number are missing then, it was damage.
const newestFile = "NEWEST"

// Note stores the number of the newest record beside the store, if records are durable.
func (d *Disk) Note() error {
	if !d.noted {
		return nil
	}
	_, newest := d.Bounds()
	next := filepath.Join(d.dir, newestFile+".next")
	f, err := d.fs.Create(next, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(strconv.AppendUint(nil, newest, 10))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.fs.Rename(next, filepath.Join(d.dir, newestFile))
}

// noted returns the stored number, 0 if there is none.
func noted(fs vfs.FS, dir string) uint64 {
	f, err := fs.Open(filepath.Join(dir, newestFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	b, _ := io.ReadAll(f) // what cannot be read is no number
	n, _ := strconv.ParseUint(string(b), 10, 64)
	return n
}

// checkList returns ErrDamaged if the list of files ends early and newer records were there.
func checkList(o Options) error {
	want := noted(o.FS, o.Dir)
	if want == 0 {
		return nil
	}
	place, cut, err := cutList(o.FS, o.Dir)
	if err != nil || !cut {
		return err
	}
	o.ReadOnly, o.listed = true, true
	d, err := Open(o)
	if err != nil {
		return err
	}
	_, newest := d.Bounds()
	if newest < want {
		err = fmt.Errorf("%w: %s: the list of files ends early: record %d was there, and %d is the newest one", ErrDamaged, place, want, newest)
	}
	return errors.Join(err, d.Close())
}

// cutList reports whether the list of files ends in the middle of an entry, and where.
func cutList(fs vfs.FS, dir string) (place string, cut bool, err error) {
	desc, err := pebble.Peek(dir, fs)
	if err != nil || !desc.Exists {
		return "", false, err
	}
	f, err := fs.Open(desc.ManifestFilename)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	for r := record.NewReader(f, 0); ; {
		at := r.Offset()
		entry, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, entry)
		}
		switch {
		case errors.Is(err, io.EOF):
			return "", false, nil
		case err != nil:
			return fmt.Sprintf("%s at %d", desc.ManifestFilename, at), true, nil
		}
	}
}
