package directory

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"paddock/fence"
)

// errNotRegular refuses files whose opening might block, such as a pipe.
var errNotRegular = errors.New("it is not a regular file")

// list scans all files. If it fails, or finds none, nothing changes: a volume that is not mounted
// is likelier than the wish to remove all fences.
func (d *Directory) list() error {
	names, err := matching(d.o.Dir)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%w: no file matches *json", fence.ErrNoSets)
	}
	d.fault.set(err, time.Now())
	if err != nil {
		return err
	}
	for _, name := range names {
		if d.files[name] == nil {
			d.files[name] = newFile(name)
		}
	}
	for name, f := range d.files {
		_, there := slices.BinarySearch(names, name)
		f.look(filepath.Join(d.o.Dir, name), there)
	}
	d.claim()
	return nil
}

// matching returns the names of the files that may be sets, sorted.
func matching(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "json") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// claim refuses files whose names make the same set, or none. A set that is served under such a
// name stays.
func (d *Directory) claim() {
	first := map[string]*file{}
	for _, f := range d.sorted() {
		if f.gone() {
			continue
		}
		if f.set == "" {
			f.obstacle = fmt.Errorf("%s: %w: its name has neither letter a-z nor digit", f.name, fence.ErrName)
			continue
		}
		other := first[f.set]
		if other == nil {
			first[f.set] = f
			continue
		}
		clash := fmt.Errorf("%w: %s and %s are both named %q", fence.ErrExists, other.name, f.name, f.set)
		other.obstacle, f.obstacle = clash, clash
	}
}

// sorted returns the files by name.
func (d *Directory) sorted() []*file {
	files := make([]*file, 0, len(d.files))
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		files = append(files, d.files[name])
	}
	return files
}

// A mode selects the files to read.
type mode bool

const (
	whenStill mode = false // files that have changed, but not since the last scan
	always    mode = true  // all
)

// moved reports whether a file has changed since the last scan.
func (d *Directory) moved() bool {
	for _, f := range d.files {
		if f.moved {
			return true
		}
	}
	return false
}

// due returns the files to read.
func (d *Directory) due(m mode) (due []*file) {
	now := time.Now()
	for _, f := range d.sorted() {
		switch {
		case f.gone() || f.obstacle != nil:
		case m == whenStill && !f.moved && f.changed(now):
			due = append(due, f)
		case m == always:
			due = append(due, f)
		}
	}
	return due
}

// gone returns the removed files.
func (d *Directory) gone(m mode) (gone []*file) {
	for _, f := range d.sorted() {
		if f.gone() && (m == always || !f.moved) {
			gone = append(gone, f)
		}
	}
	return gone
}

// orphans returns the names of the sets of removed files, except for sets that another file is
// named after, or that were replaced at run time.
func (d *Directory) orphans(gone []*file) (names []string) {
	for _, f := range gone {
		set, ok := d.o.Catalog.Get(f.set)
		if ok && set == f.served && d.successor(f) == nil {
			names = append(names, f.set)
		}
	}
	return names
}

// successor returns a present file whose set has the same name as that of a removed file, or nil.
func (d *Directory) successor(gone *file) *file {
	for _, f := range d.sorted() {
		if f.set == gone.set && !f.gone() {
			return f
		}
	}
	return nil
}

// forget drops a removed file. Its set, if it stays, passes to its successor.
func (d *Directory) forget(f *file) {
	delete(d.files, f.name)
	d.log.Info("file gone", "file", f.name, "set", f.set)
	if successor := d.successor(f); successor != nil && successor.served == nil {
		successor.served = f.served
	}
}
