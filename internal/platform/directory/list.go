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

// errNotRegular refuses what opening might wait for, such as a pipe.
var errNotRegular = errors.New("it is not a regular file")

// list looks at all files. If that fails, or there is none, nothing changes: a volume
// that is not mounted is likelier than somebody who wants all fences gone.
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

// matching lists the names of what may be sets, sorted.
func matching(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), "json") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// claim refuses files that have one name as sets, or none. What is served for such a
// name stays so.
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

// sorted lists the files by name.
func (d *Directory) sorted() []*file {
	files := make([]*file, 0, len(d.files))
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		files = append(files, d.files[name])
	}
	return files
}

// A mode says which files are taken.
type mode bool

const (
	whenStill mode = false // those that have changed and are as at the last look
	always    mode = true  // all
)

// moved reports whether a file is not as at the last look.
func (d *Directory) moved() bool {
	for _, f := range d.files {
		if f.moved {
			return true
		}
	}
	return false
}

// due lists the files to be read.
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

// gone lists the files that are no more.
func (d *Directory) gone(m mode) (gone []*file) {
	for _, f := range d.sorted() {
		if f.gone() && (m == always || !f.moved) {
			gone = append(gone, f)
		}
	}
	return gone
}

// orphans names the sets of files that have gone, but for those that another file has the
// name of, or that somebody else has made since.
func (d *Directory) orphans(gone []*file) (names []string) {
	for _, f := range gone {
		set, ok := d.o.Catalog.Get(f.set)
		if ok && set == f.served && d.heir(f) == nil {
			names = append(names, f.set)
		}
	}
	return names
}

// heir is a file whose set has the name of that of one that has gone; nil if there is none.
func (d *Directory) heir(gone *file) *file {
	for _, f := range d.sorted() {
		if f.set == gone.set && !f.gone() {
			return f
		}
	}
	return nil
}

// forget drops a file that has gone. Its set, if it stays, is its heir's.
func (d *Directory) forget(f *file) {
	delete(d.files, f.name)
	d.log.Info("file gone", "file", f.name, "set", f.set)
	if heir := d.heir(f); heir != nil && heir.served == nil {
		heir.served = f.served
	}
}
